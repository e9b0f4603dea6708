"""Copies two classes of FMDB and fits their declarations to GCC's Objective-C runtime, which Debian's GNUstep uses.

That runtime wants every instance variable in the public @interface and every property synthesised by name, as Apple's
did before 2006. So the variables that FMDB declares in its .m files, or leaves to the compiler, move into the header.
No line of a method changes but one subscript, which the old runtime does not know.
"""

import re
import shutil
import sys
from pathlib import Path

#: By class: the variables of properties that FMDB leaves to the compiler, or synthesises itself.
FMDATABASE = {
    "traceExecution": "BOOL",
    "checkedOut": "BOOL",
    "crashOnErrors": "BOOL",
    "logsErrors": "BOOL",
    "cachedStatements": "NSMutableDictionary *",
    "isOpen": "BOOL",
    "databasePath": "NSString *",
}
FMDATABASE_DECLARED = {
    "shouldCacheStatements": "BOOL",
    "maxBusyRetryTimeInterval": "NSTimeInterval",
    "isInTransaction": "BOOL",
}
FMRESULTSET = {
    "parentDB": "FMDatabase *",
    "query": "NSString *",
    "statement": "FMStatement *",
    "shouldAutoClose": "BOOL",
}
#: Its variables are in its @interface already.
FMSTATEMENT = ("statement", "query", "useCount", "inUse")


class Port:
    """A class's header and implementation, changed text by text. One that is not there once is another FMDB's."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.header = (folder / f"{name}.h").read_text(encoding="utf-8")
        self.code = (folder / f"{name}.m").read_text(encoding="utf-8")

    def replaced(self, text: str, old: str, new: str) -> str:
        if text.count(old) != 1:
            sys.exit(f"{self.folder}/{self.name}: `{old.strip()}` is not there once: FMDB 2.7.12 is what can be built")
        return text.replace(old, new)

    def move_variables(self, extras: dict[str, str]) -> None:
        """Moves the variables of the class extension into the @interface, with further ones."""
        extension = re.compile(rf"(@interface {self.name} \(\)) \{{\n(.*?)\n\}}\n", re.S)
        found = extension.search(self.code)
        if not found:
            sys.exit(f"{self.folder}/{self.name}.m: no class extension with variables: FMDB 2.7.12 is what can be built")
        self.code = extension.sub(r"\1\n", self.code, count=1)
        variables = [found.group(2), *(f"    {kind} _{name};" for name, kind in extras.items())]
        interface = f"@interface {self.name} : NSObject"
        self.header = self.replaced(self.header, interface + "\n", interface + " {\n" + "\n".join(variables) + "\n}\n")

    def synthesise(self, name: str, properties: object) -> None:
        """Names the variables of properties."""
        lines = "".join(f"@synthesize {one} = _{one};\n" for one in properties)
        begin = f"@implementation {name}\n"
        self.code = self.replaced(self.code, begin, begin + lines)

    def write(self, folder: Path) -> None:
        (folder / f"{self.name}.h").write_text(self.header, encoding="utf-8")
        (folder / f"{self.name}.m").write_text(self.code, encoding="utf-8")


def main(sources: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    database = Port(sources, "FMDatabase")
    database.move_variables({**FMDATABASE, **FMDATABASE_DECLARED})
    database.synthesise("FMDatabase", FMDATABASE)
    database.synthesise("FMStatement", FMSTATEMENT)
    database.code = database.replaced(database.code, "[components[i] intValue]", "[[components objectAtIndex:i] intValue]")
    database.write(target)
    results = Port(sources, "FMResultSet")
    results.move_variables(FMRESULTSET)
    results.synthesise("FMResultSet", FMRESULTSET)
    results.write(target)
    # FMDatabase.h imports it.
    shutil.copyfile(sources / "FMDatabasePool.h", target / "FMDatabasePool.h")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
