//! Every mutation of the store can still be made (`make mutations` makes them).

use xtask::{Tree, assert_none, mutation};

#[test]
fn what_a_mutation_replaces_stands_once_in_its_file() {
    let tree = Tree::read();
    let mutations = mutation::parse(tree.text(mutation::LIST)).expect("the list is one");
    assert!(mutations.len() > 50, "only {} mutations were found", mutations.len());
    let source = |file: &str| {
        let path = format!("{}/{file}", mutation::SOURCE);
        tree.texts().find(|(known, _)| *known == path).map(|(_, text)| text.to_owned())
    };
    assert_none("mutations", &mutation::check(&mutations, source));
}
