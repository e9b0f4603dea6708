//! Nested values: Python's lists, dicts and nested dataclasses, in the CBOR of the store's format, so that types of
//! other languages read them.

use crate::declared::Maker;
use crate::errors::{invalid, mismatch};
use crate::field::{bytes, integer, real, text, unfit};
use minicbor::data::Type;
use minicbor::{Decoder, Encoder};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use std::convert::Infallible;
use std::sync::OnceLock;

/// How deep values may be nested when they are written, so that every type can read them.
const DEPTH_WRITTEN_MAX: usize = 128;
/// How deep values may be nested when they are read: one level of another language may be several of these.
const DEPTH_READ_MAX: usize = 1024;

type Writer<'a> = Encoder<&'a mut Vec<u8>>;

/// The encoding of a column's value, or of a part of it.
pub enum Codec {
    Int,
    Bool,
    Float,
    Float32,
    Str,
    Bytes,
    Enum(Members),
    Optional(Box<Codec>),
    List(Box<Codec>),
    Pair(Box<(Codec, Codec)>),
    /// An array of pairs.
    Dict(Box<(Codec, Codec)>),
    Struct(Py<NestedType>),
    Union(Vec<Py<NestedType>>),
}

/// A Python enum of integers.
pub struct Members {
    class: Py<PyType>,
    members: Py<PyDict>,
}

impl Members {
    pub fn value(&self, object: &Bound<'_, PyAny>) -> PyResult<i64> {
        let py = object.py();
        if !object.is_instance(self.class.bind(py))? {
            return Err(unfit(object, &self.class.bind(py).name()?.to_string()));
        }
        integer(&object.getattr(intern!(py, "value"))?)
    }

    pub fn member<'py>(&self, py: Python<'py>, value: i64) -> PyResult<Bound<'py, PyAny>> {
        if let Some(member) = self.members.bind(py).get_item(value)? {
            return Ok(member);
        }
        // A combination of flags is no member of its own, and a class may map a number that it lacks (`_missing_`).
        let class = self.class.bind(py);
        match class.call1((value,)) {
            Ok(member) if member.is_instance(class)? => Ok(member),
            _ => Err(mismatch(py, format!("the file has {value}, which is none of {class}"))),
        }
    }
}

/// A nested dataclass: its fields by tag.
#[pyclass(frozen, module = "touchstone_store._native")]
pub struct NestedType {
    maker: Maker,
    variant: Option<u32>,
    /// Set after the class is made: a field's type may be the class itself.
    fields: OnceLock<Vec<NestedField>>,
}

/// One field as `_declare.py` gives it.
type Told<'py> = (Py<PyString>, u32, Bound<'py, PyAny>, Option<Py<PyAny>>);

struct NestedField {
    tag: u32,
    name: Py<PyString>,
    codec: Codec,
    /// The function that makes the default, if there is one.
    default: Option<Py<PyAny>>,
}

#[pymethods]
impl NestedType {
    #[new]
    #[pyo3(signature = (class, variant))]
    fn new(class: Bound<'_, PyType>, variant: Option<u32>) -> PyResult<NestedType> {
        Ok(NestedType { maker: Maker::of(&class)?, variant, fields: OnceLock::new() })
    }

    /// Sets the fields, each with its name, tag, type and the function that makes its default.
    fn tell(&self, fields: Vec<Told<'_>>) -> PyResult<()> {
        let mut told = Vec::new();
        for (name, tag, spec, default) in fields {
            told.push(NestedField { tag, name, codec: Codec::of(&spec)?, default });
        }
        told.sort_by_key(|field| field.tag);
        let _ = self.fields.set(told);
        Ok(())
    }

    #[getter]
    fn variant(&self) -> Option<u32> {
        self.variant
    }
}

impl NestedType {
    fn fields(&self, py: Python<'_>) -> PyResult<&[NestedField]> {
        if self.fields.get().is_none() {
            // The annotations are read when they are first needed: they may name classes that are defined later.
            let declare = PyModule::import(py, intern!(py, "touchstone_store._declare"))?;
            declare.call_method1(intern!(py, "complete"), (self.maker.class(py),))?;
        }
        match self.fields.get() {
            Some(fields) => Ok(fields),
            None => Err(PyTypeError::new_err("a nested class has no fields told")),
        }
    }
}

impl Codec {
    /// The encoding of an annotated type: see `spec` in `_declare.py`.
    pub fn of(spec: &Bound<'_, PyAny>) -> PyResult<Codec> {
        let py = spec.py();
        if let Ok(name) = spec.cast::<PyString>() {
            return Ok(match text(name)? {
                "int" => Codec::Int,
                "bool" => Codec::Bool,
                "float" => Codec::Float,
                "float32" => Codec::Float32,
                "str" => Codec::Str,
                "bytes" => Codec::Bytes,
                other => return Err(PyTypeError::new_err(format!("{other} cannot be nested"))),
            });
        }
        let spec = spec.cast::<PyTuple>()?;
        let part = |at: usize| Codec::of(&spec.get_item(at)?);
        let name: String = spec.get_item(0)?.extract()?;
        Ok(match name.as_str() {
            "optional" => Codec::Optional(Box::new(part(1)?)),
            "list" => Codec::List(Box::new(part(1)?)),
            "pair" => Codec::Pair(Box::new((part(1)?, part(2)?))),
            "dict" => Codec::Dict(Box::new((part(1)?, part(2)?))),
            "enum" => {
                let (class, members) = (spec.get_item(1)?, PyDict::new(py));
                for member in class.try_iter()? {
                    let member = member?;
                    members.set_item(member.getattr(intern!(py, "value"))?, &member)?;
                }
                Codec::Enum(Members {
                    class: class.cast_into::<PyType>()?.unbind(),
                    members: members.unbind(),
                })
            }
            "struct" => Codec::Struct(nested_type(&spec.get_item(1)?)?),
            "union" => {
                let classes: Vec<Bound<'_, PyAny>> = spec.get_item(1)?.extract()?;
                Codec::Union(classes.iter().map(nested_type).collect::<PyResult<_>>()?)
            }
            other => return Err(PyTypeError::new_err(format!("{other} cannot be nested"))),
        })
    }

    fn encode(&self, writer: &mut Writer<'_>, object: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        let py = object.py();
        if depth > DEPTH_WRITTEN_MAX {
            return Err(invalid(py, "its values lie more than 128 deep within each other"));
        }
        match self {
            Codec::Int => written(match object.extract::<u64>() {
                Ok(value) if object.is_instance_of::<PyInt>() => writer.u64(value),
                _ => writer.i64(integer(object)?),
            }),
            Codec::Bool => match object.cast::<PyBool>() {
                Ok(object) => written(writer.bool(object.is_true())),
                Err(_) => return Err(unfit(object, "bool")),
            },
            Codec::Float => written(writer.f64(real(object)?)),
            #[expect(clippy::cast_possible_truncation, reason = "the nearest is asked for")]
            Codec::Float32 => written(writer.f32(real(object)? as f32)),
            Codec::Str => match object.cast::<PyString>() {
                Ok(object) => written(writer.str(text(object)?)),
                Err(_) => return Err(unfit(object, "str")),
            },
            Codec::Bytes => written(writer.bytes(&bytes(object)?)),
            Codec::Enum(members) => written(writer.i64(members.value(object)?)),
            Codec::Optional(_) if object.is_none() => written(writer.null()),
            Codec::Optional(inner) => inner.encode(writer, object, depth)?,
            Codec::List(inner) => encode_list(inner, writer, object, depth)?,
            Codec::Pair(parts) => {
                let pair = object.cast::<PyTuple>().map_err(|_| unfit(object, "tuple"))?;
                if pair.len() != 2 {
                    return Err(invalid(py, "a tuple of two is wanted"));
                }
                written(writer.array(2));
                parts.0.encode(writer, &pair.get_item(0)?, depth + 1)?;
                parts.1.encode(writer, &pair.get_item(1)?, depth + 1)?;
            }
            Codec::Dict(parts) => {
                let dict = object.cast::<PyDict>().map_err(|_| unfit(object, "dict"))?;
                written(writer.array(dict.len() as u64));
                for (key, value) in dict.iter() {
                    written(writer.array(2));
                    parts.0.encode(writer, &key, depth + 1)?;
                    parts.1.encode(writer, &value, depth + 1)?;
                }
            }
            Codec::Struct(nested) => {
                let nested = nested.get();
                if !object.is_instance(&nested.maker.class(py))? {
                    return Err(unfit(object, &nested.maker.class(py).name()?.to_string()));
                }
                encode_fields(nested.fields(py)?, writer, object, depth)?;
            }
            Codec::Union(variants) => encode_variant(variants, writer, object, depth)?,
        }
        Ok(())
    }

    fn decode<'py>(
        &self,
        py: Python<'py>,
        reader: &mut Decoder<'_>,
        depth: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        if depth > DEPTH_READ_MAX {
            return Err(broken(py));
        }
        let fault = |_| broken(py);
        Ok(match self {
            Codec::Int => match reader.datatype().map_err(fault)? {
                Type::U64 => PyInt::new(py, reader.u64().map_err(fault)?).into_any(),
                _ => PyInt::new(py, reader.i64().map_err(fault)?).into_any(),
            },
            Codec::Bool => PyBool::new(py, reader.bool().map_err(fault)?).to_owned().into_any(),
            Codec::Float | Codec::Float32 => PyFloat::new(py, reader.f64().map_err(fault)?).into_any(),
            Codec::Str => PyString::new(py, reader.str().map_err(fault)?).into_any(),
            Codec::Bytes => PyBytes::new(py, reader.bytes().map_err(fault)?).into_any(),
            Codec::Enum(members) => members.member(py, reader.i64().map_err(fault)?)?,
            Codec::Optional(inner) => {
                if reader.datatype().map_err(fault)? == Type::Null {
                    reader.null().map_err(fault)?;
                    return Ok(py.None().into_bound(py));
                }
                inner.decode(py, reader, depth)?
            }
            Codec::List(inner) => {
                let list = PyList::empty(py);
                for _ in 0..length(py, reader)? {
                    list.append(inner.decode(py, reader, depth + 1)?)?;
                }
                list.into_any()
            }
            Codec::Pair(parts) => pair(py, parts, reader, depth)?.into_any(),
            Codec::Dict(parts) => {
                let dict = PyDict::new(py);
                for _ in 0..length(py, reader)? {
                    let item = pair(py, parts, reader, depth)?;
                    dict.set_item(item.get_item(0)?, item.get_item(1)?)?;
                }
                dict.into_any()
            }
            Codec::Struct(nested) => {
                let fields = reader.map().map_err(fault)?.ok_or_else(|| broken(py))?;
                decode_fields(py, nested.get(), reader, fields, depth)?
            }
            Codec::Union(variants) => {
                let payload = reader.datatype().map_err(fault)? == Type::Array;
                if payload && length(py, reader)? != 2 {
                    return Err(broken(py));
                }
                let tag = reader.u32().map_err(fault)?;
                let variant = variants.iter().map(Py::get).find(|variant| variant.variant == Some(tag));
                let Some(variant) = variant else {
                    return Err(mismatch(
                        py,
                        format!("the file has a variant {tag} that the union does not know"),
                    ));
                };
                let fields = match payload {
                    true => reader.map().map_err(fault)?.ok_or_else(|| broken(py))?,
                    false => 0,
                };
                decode_fields(py, variant, reader, fields, depth)?
            }
        })
    }
}

fn nested_type(class: &Bound<'_, PyAny>) -> PyResult<Py<NestedType>> {
    let nested = class.getattr(intern!(class.py(), "__touchstone_nested__"))?;
    Ok(nested.cast_into::<NestedType>()?.unbind())
}

fn encode_list(
    inner: &Codec,
    writer: &mut Writer<'_>,
    object: &Bound<'_, PyAny>,
    depth: usize,
) -> PyResult<()> {
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return Err(unfit(object, "list"));
    }
    let length = object.len().map_err(|_| unfit(object, "list"))?;
    written(writer.array(length as u64));
    let mut count = 0;
    for item in object.try_iter()? {
        inner.encode(writer, &item?, depth + 1)?;
        count += 1;
    }
    if count == length { Ok(()) } else { Err(invalid(object.py(), "the list changed while it was stored")) }
}

fn encode_variant(
    variants: &[Py<NestedType>],
    writer: &mut Writer<'_>,
    object: &Bound<'_, PyAny>,
    depth: usize,
) -> PyResult<()> {
    let (py, class) = (object.py(), object.get_type());
    let variant = variants.iter().map(Py::get).find(|variant| class.is(variant.maker.class(py)));
    let Some(variant) = variant else { return Err(unfit(object, "one of the union's classes")) };
    let (tag, fields) = (variant.variant.unwrap_or(0), variant.fields(py)?);
    if fields.is_empty() {
        written(writer.u32(tag));
        return Ok(());
    }
    written(writer.array(2).and_then(|writer| writer.u32(tag)));
    encode_fields(fields, writer, object, depth)
}

fn encode_fields(
    fields: &[NestedField],
    writer: &mut Writer<'_>,
    object: &Bound<'_, PyAny>,
    depth: usize,
) -> PyResult<()> {
    written(writer.map(fields.len() as u64));
    for field in fields {
        written(writer.u32(field.tag));
        let value = object.getattr(field.name.bind(object.py()))?;
        field.codec.encode(writer, &value, depth + 1)?;
    }
    Ok(())
}

fn decode_fields<'py>(
    py: Python<'py>,
    nested: &NestedType,
    reader: &mut Decoder<'_>,
    count: u64,
    depth: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = nested.fields(py)?;
    let mut values: Vec<Option<Bound<'py, PyAny>>> = vec![None; fields.len()];
    for _ in 0..count {
        let tag = reader.u32().map_err(|_| broken(py))?;
        let Some(at) = fields.iter().position(|field| field.tag == tag) else {
            reader.skip().map_err(|_| broken(py))?;
            continue;
        };
        let is_null = reader.datatype().map_err(|_| broken(py))? == Type::Null;
        let field = &fields[at];
        if is_null && field.default.is_some() && !matches!(field.codec, Codec::Optional(_)) {
            reader.null().map_err(|_| broken(py))?;
            continue;
        }
        values[at] = Some(field.codec.decode(py, reader, depth + 1)?);
    }
    nested.maker.make(
        py,
        fields.iter().zip(values).map(|(field, value)| {
            let value = match (value, &field.default, &field.codec) {
                (Some(value), ..) => value,
                (None, Some(default), _) => default.bind(py).call0()?,
                (None, None, Codec::Optional(_)) => py.None().into_bound(py),
                _ => {
                    return Err(mismatch(
                        py,
                        format!("the nested field with the tag {} is not there", field.tag),
                    ));
                }
            };
            Ok((field.name.bind(py), value))
        }),
    )
}

fn pair<'py>(
    py: Python<'py>,
    parts: &(Codec, Codec),
    reader: &mut Decoder<'_>,
    depth: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    if length(py, reader)? != 2 {
        return Err(broken(py));
    }
    let first = parts.0.decode(py, reader, depth + 1)?;
    let second = parts.1.decode(py, reader, depth + 1)?;
    PyTuple::new(py, [first, second])
}

fn length(py: Python<'_>, reader: &mut Decoder<'_>) -> PyResult<u64> {
    reader.array().ok().flatten().ok_or_else(|| broken(py))
}

fn broken(py: Python<'_>) -> PyErr {
    mismatch(py, "it is no encoding of the nested type")
}

fn written<T>(result: Result<T, minicbor::encode::Error<Infallible>>) {
    if let Err(error) = result {
        unreachable!("writing into memory failed: {error}");
    }
}

/// The bytes of a value.
pub fn to_bytes(codec: &Codec, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    codec.encode(&mut Encoder::new(&mut bytes), object, 1)?;
    Ok(bytes)
}

/// The value of these bytes.
pub fn from_bytes<'py>(py: Python<'py>, codec: &Codec, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let mut reader = Decoder::new(bytes);
    let value = codec.decode(py, &mut reader, 1)?;
    if reader.position() == bytes.len() { Ok(value) } else { Err(broken(py)) }
}
