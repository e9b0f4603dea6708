"""What the lab asks of a driver of records: one database, its handles, and the lanes that are played on them."""

from __future__ import annotations

import gc
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

from .answers import Answers
from .conversation import REQUIRED, Conversation, checked
from .driver import VERBS, About, Driver, Failure, Model, Open
from .lane import Lane, play, play_open
from .records import Malformed, digest, read_dataset, read_operations, sort_key

_LANE = {
    "verb": (str, REQUIRED),
    "from": (int, REQUIRED),
    "count": (int, REQUIRED),
    "held": (bool, False),
    "above": ((int, type(None)), None),
    "table": (int, 1),
}
_SCHEMA = {"create": (bool, REQUIRED), "tables": (int, 1), "keyed": (bool, False), "typed": (bool, False), "indexes": (list, ())}


class Kit(Conversation):
    """Speaks for one driver."""

    def __init__(self, about: About, driver: type[Driver]) -> None:
        super().__init__(about)
        self.driver = driver
        self.record: Optional[str] = None
        self.objects: list[Any] = []
        self.operations: Optional[list[int]] = None
        self.states: list[Any] = []
        self.asked: Optional[Open] = None
        self.handles: list[tuple[int, Driver]] = []

    def capabilities(self) -> list[str]:
        capabilities = []
        for record, model in self.driver.models.items():
            capabilities += [f"{record}.{verb}" for verb in VERBS if verb in model.verbs]
            capabilities += [f"{record}.held"] if self.driver.holds else []
            capabilities += [f"{record}.tables"] if model.tables else []
        return capabilities

    def kind_of(self, error: Exception) -> str:
        return self.driver.kind_of(error)

    def _model(self, record: str) -> Model:
        model = self.driver.models.get(record)
        if model is None:
            raise Failure("unsupported", f"{self.about.subject} stores no {record}")
        return model

    def _prepare(
        self,
        record_: str,
        dataset_: str,
        operations_: Optional[str],
        states_: Optional[str],
        subscriptions_: Optional[str],
    ) -> dict[str, Any]:
        if subscriptions_ is not None:
            raise Failure("unsupported", "the driver has no subscriptions")
        self.record, model = None, self._model(record_)
        gc.unfreeze()
        try:
            self.objects = [model.make(one) for one in read_dataset(record_, dataset_)]
            self.states = [model.make(one) for one in read_dataset(record_, states_)] if states_ else []
            self.operations = read_operations(operations_) if operations_ else None
        except OSError as error:
            raise Failure("io", str(error)) from error
        except Malformed as error:
            raise Failure("protocol", str(error)) from error
        if self.operations and max(self.operations) >= len(self.objects):
            raise Failure("protocol", f"an operation names a record beyond the dataset's {len(self.objects)}")
        self.record = record_
        # What the kit holds is not the subject's: Python's collector of cycles need not look at it in a timed stretch.
        gc.collect()
        gc.freeze()
        operations = len(self.objects) if self.operations is None else len(self.operations)
        sizes = {"records": len(self.objects), "operations": operations}
        return {**sizes, "states": len(self.states)} if self.states else sizes

    def _open(self, directory_: str, record_: str, schema_: Any, settings_: dict[str, Any]) -> dict[str, Any]:
        self._model(record_)
        if self.handles:
            raise Failure("protocol", "a database is open; close it first")
        schema = checked(schema_, _SCHEMA, "a schema")
        if schema["typed"]:
            raise Failure("unsupported", f"the driver has no {record_}.typed")
        asked = Open(
            Path(directory_),
            settings_,
            record_,
            schema["create"],
            schema["tables"],
            schema["indexes"],
            keyed=schema["keyed"],
        )
        handle = self.driver(asked)
        self.handles.append((1, handle))
        self.asked = replace(asked, create=False)
        return {"settings": handle.settings()}

    def _playing(self) -> tuple[str, Open, Model]:
        if self.asked is None or not self.handles:
            raise Failure("protocol", "no database is open")
        if self.record is None:
            raise Failure("protocol", "no dataset is prepared")
        if self.record != self.asked.record:
            raise Failure("protocol", f"the dataset is of {self.record}, the database of {self.asked.record}")
        return self.record, self.asked, self._model(self.record)

    def _tables(self, tables: list[int]) -> list[Driver]:
        """A handle for each of these, none of them twice."""
        record, asked, model = self._playing()
        for table in tables:
            if table != 1 and not model.tables:
                raise Failure("unsupported", f"the driver has no {record}.tables, so no table {table}")
            if not 1 <= table <= max(1, asked.tables):
                raise Failure("protocol", f"table {table} was asked for; there are {asked.tables}, numbered from 1")
        taken: list[int] = []
        for table in tables:
            idle = [at for at, (known, _) in enumerate(self.handles) if known == table and at not in taken]
            if not idle:
                self.handles.append((table, self.handles[0][1].another(replace(asked, table=table))))
                idle = [len(self.handles) - 1]
            taken.append(idle[0])
        return [self.handles[at][1] for at in taken]

    def _fill(self, from_: int, count_: int, table_: int) -> dict[str, Any]:
        model = self._playing()[2]
        objects = _part(self.objects, from_, count_, "records")
        (handle,) = self._tables([table_])
        if "insert-many" in model.verbs:
            handle.insert_many(objects)
        else:
            for one in objects:
                handle.insert_one(one)
        return {}

    def _churn(self, from_: int, count_: int, times_: int, table_: int) -> dict[str, Any]:
        record, _, model = self._playing()
        for verb in ("insert-many", "delete-many"):
            if verb not in model.verbs:
                raise Failure("unsupported", f"the driver has no {record}.{verb}, which churning takes")
        objects = _part(self.objects, from_, count_, "records")
        (handle,) = self._tables([table_])
        for _ in range(times_):
            handle.insert_many(objects)
            handle.delete_many()
        return {}

    def _lanes(self, given: list[Any], latency: bool) -> list[tuple[dict[str, Any], Lane]]:
        record, _, model = self._playing()
        if not given:
            raise Failure("protocol", "a run has at least one lane")
        lanes = [checked(lane, _LANE, "a lane") for lane in given]
        for lane in lanes:
            if lane["verb"] not in VERBS:
                raise Failure("protocol", f"there is no verb `{lane['verb']}`")
            if lane["verb"] not in model.verbs:
                raise Failure("unsupported", f"the driver has no {record}.{lane['verb']}")
            if lane["held"] and not self.driver.holds:
                raise Failure("unsupported", "the driver holds no read transactions")
        works = [self._work(lane, model) for lane in lanes]
        handles = self._tables([lane["table"] for lane in lanes])
        return [
            (lane, Lane(handle, model, lane["verb"], work, latency))
            for lane, handle, work in zip(lanes, handles, works)
        ]

    def _work(self, lane: dict[str, Any], model: Model) -> Any:
        verb, start, count = lane["verb"], lane["from"], lane["count"]
        if verb == "open":
            raise Failure("unsupported", "an open lane runs alone, and there is nothing to explain about it")
        if verb == "find":
            if lane["above"] is None:
                raise Failure("protocol", "a find lane needs `above`, the bound to compare with")
            return lane["above"], count
        if verb in ("update-one", "update-many"):
            return _part(self.states, start, count, "new states")
        if verb in ("read-all", "delete-many"):
            return count
        if self.operations is None:
            objects = _part(self.objects, start, count, "operations")
        else:
            objects = [self.objects[at] for at in _part(self.operations, start, count, "operations")]
        return [model.fields(one)[0] for one in objects] if verb == "get" else objects

    def _run(self, lanes_: list[Any], latency_: Optional[str]) -> dict[str, Any]:
        is_open = [isinstance(lane, dict) and lane.get("verb") == "open" for lane in lanes_]
        if is_open == [True]:
            sample, latency = self._run_open(checked(lanes_[0], _LANE, "a lane"))
        else:
            lanes = self._lanes(lanes_, latency_ is not None)
            for told, lane in lanes:
                if told["held"]:
                    lane.driver.begin_read()
            sample, latency = play([lane for _, lane in lanes], self._playing()[0])
            for told, lane in lanes:
                if told["held"]:
                    lane.driver.end_read()
        if latency_ is not None:
            Path(latency_).write_bytes(struct.pack(f"<{len(latency)}Q", *latency))
        return sample

    def _run_open(self, lane: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        record, asked, model = self._playing()
        if "open" not in model.verbs:
            raise Failure("unsupported", f"the driver has no {record}.open")
        self.close()
        answers = Answers(model, self.driver.kind_of)
        sample = play_open(lambda: self.driver(asked), answers, record, lane["count"])
        self.asked, self.handles = asked, [(1, self.driver(asked))]
        return sample

    def _explain(self, lanes_: list[Any]) -> dict[str, Any]:
        plan: list[str] = []
        for told, lane in self._lanes(lanes_, False):
            plan += [line for line in lane.driver.explain(lane.verb, told["above"] or 0) if line not in plan]
        return {"plan": plan, "counters": {}}

    def _check(self, table_: int) -> dict[str, Any]:
        record, _, model = self._playing()
        (handle,) = self._tables([table_])
        records = sorted((model.fields(one) for one in handle.read_all()), key=sort_key)
        return {"answers": len(records), "digest": digest(record, records)}

    def close(self) -> None:
        """Closes every handle, the first one last."""
        handles, self.handles, self.asked = self.handles, [], None
        for _, handle in reversed(handles):
            handle.close()

    def _close(self) -> dict[str, Any]:
        self.close()
        return {}


def _part(of: list[Any], start: int, count: int, what: str) -> list[Any]:
    if start + count > len(of):
        raise Failure("protocol", f"{count} {what} from {start} were asked for; there are {len(of)}")
    return of[start : start + count]
