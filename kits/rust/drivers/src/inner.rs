//! What a canary over a real driver leaves to that driver, so that each says only what it does otherwise.

/// Methods of a driver, or verbs on a type of record, that are `self.inner`'s.
///
/// `left_to_inner!(handle)` stands in an implementation of `Driver`, `left_to_inner!(Row: get, first)` in one of `Store`.
#[macro_export]
macro_rules! left_to_inner {
    (handle) => {
        fn begin_read(&mut self) -> Result<(), Self::Error> {
            self.inner.begin_read()
        }

        fn end_read(&mut self) -> Result<(), Self::Error> {
            self.inner.end_read()
        }

        fn explain(&mut self) -> Result<(), Self::Error> {
            self.inner.explain()
        }

        fn explained(&mut self) -> Result<::touchstone_kit::Plan, Self::Error> {
            self.inner.explained()
        }
    };
    (@get $record:ty) => {
        fn get(
            &mut self,
            key: &<$record as ::touchstone_kit::Record>::Key,
        ) -> Result<Option<$record>, Self::Error> {
            self.inner.get(key)
        }
    };
    (@read_all $record:ty) => {
        fn read_all(&mut self) -> Result<Vec<$record>, Self::Error> {
            self.inner.read_all()
        }
    };
    (@insert_one $record:ty) => {
        fn insert_one(&mut self, record: &$record) -> Result<(), Self::Error> {
            self.inner.insert_one(record)
        }
    };
    (@insert_many $record:ty) => {
        fn insert_many(&mut self, records: &[&$record]) -> Result<(), Self::Error> {
            self.inner.insert_many(records)
        }
    };
    (@mix $record:ty) => {
        fn mix(
            &mut self,
            operations: &[::touchstone_kit::Operation<'_, $record>],
            found: &mut Vec<$record>,
        ) -> Result<u64, Self::Error> {
            self.inner.mix(operations, found)
        }
    };
    (@first $record:ty) => {
        fn first(&mut self) -> Result<Option<$record>, Self::Error> {
            self.inner.first()
        }
    };
    ($record:ty: $($verb:ident),+) => {
        $($crate::left_to_inner!(@$verb $record);)+
    };
}
