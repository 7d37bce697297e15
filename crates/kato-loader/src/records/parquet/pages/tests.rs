//! Headers are written as the compact protocol says, with whatever else a structure may hold.

use proptest::prelude::*;

use super::*;

/// A value of the protocol, by its type.
#[derive(Debug, Clone)]
enum Value {
    Bool(bool),
    Byte(u8),
    /// Of 2, 4 or 8 bytes.
    Integer(u8, i64),
    Double([u8; 8]),
    Binary(Vec<u8>),
    /// So many equal values, as a list or a set.
    List(u8, usize, Box<Self>),
    Struct(Vec<(i64, Self)>),
}

impl Value {
    fn kind(&self) -> u8 {
        match self {
            Self::Bool(true) => kind::TRUE,
            Self::Bool(false) => kind::FALSE,
            Self::Byte(_) => kind::BYTE,
            Self::Integer(kind, _) | Self::List(kind, ..) => *kind,
            Self::Double(_) => kind::DOUBLE,
            Self::Binary(_) => kind::BINARY,
            Self::Struct(_) => kind::STRUCT,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            // The type of the field says it all.
            Self::Bool(_) => {}
            Self::Byte(byte) => out.push(*byte),
            Self::Integer(_, number) => integer(*number, out),
            Self::Double(bytes) => out.extend(bytes),
            Self::Binary(bytes) => {
                varint(bytes.len() as u64, out);
                out.extend(bytes);
            }
            Self::List(_, length, value) => {
                let short = u8::try_from(*length).ok().filter(|length| *length < 15);
                out.push(short.unwrap_or(15) << 4 | value.kind());
                if short.is_none() {
                    varint(*length as u64, out);
                }
                for _ in 0..*length {
                    match **value {
                        Self::Bool(_) => out.push(value.kind()),
                        _ => value.write(out),
                    }
                }
            }
            Self::Struct(fields) => {
                let mut before = 0;
                for (number, value) in fields {
                    match number - before {
                        step @ 1..16 => out.push((step as u8) << 4 | value.kind()),
                        _ => {
                            out.push(value.kind());
                            integer(*number, out);
                        }
                    }
                    value.write(out);
                    before = *number;
                }
                out.push(kind::STOP);
            }
        }
    }
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7F {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn integer(number: i64, out: &mut Vec<u8>) {
    // Zigzag: 0, -1, 1, -2, …
    let doubled = 2 * i128::from(number);
    varint(doubled.max(-doubled - 1) as u64, out);
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<u8>().prop_map(Value::Byte),
        (kind::I16..=kind::I64, any::<i64>()).prop_map(|(kind, n)| Value::Integer(kind, n)),
        any::<[u8; 8]>().prop_map(Value::Double),
        prop::collection::vec(any::<u8>(), 0..200).prop_map(Value::Binary),
    ];
    leaf.prop_recursive(4, 40, 6, |value| {
        let list = (kind::LIST..=kind::SET, 0..20usize, value.clone());
        let fields = prop::collection::vec((0..9i64, value), 0..6);
        prop_oneof![
            list.prop_map(|(kind, length, value)| Value::List(kind, length, Box::new(value))),
            fields.prop_map(Value::Struct),
        ]
    })
}

/// Reads a header, and how long it is.
fn read(fields: Vec<(i64, Value)>) -> (io::Result<(u64, u64, bool)>, bool) {
    let mut bytes = Vec::new();
    Value::Struct(fields).write(&mut bytes);
    let length = bytes.len() as u64;
    // The page itself begins behind it.
    bytes.extend([0xFF; 20]);
    let mut header = Header::new(bytes.as_slice());
    let page = header.read();
    let page = page.map(|page| (page.bytes, page.stored_bytes, page.has_shared_beginnings));
    (page, header.n_read == length)
}

proptest! {
    #[test]
    fn headers_say_their_sizes_and_encodings_whatever_else_they_hold(
        sizes: [i32; 2],
        others in prop::collection::vec((9..2_000i64, values()), 0..6),
        within in prop::collection::vec((5..20i64, values()), 0..3),
        encoding in 0..9i64,
        place in 0..3usize,
    ) {
        let number = |number| Value::Integer(kind::I32, i64::from(number));
        let mut fields = vec![(1, number(0)), (2, number(sizes[0])), (3, number(sizes[1]))];
        let encoding_of = |field| {
            let mut fields = vec![(1, number(3)), (field, Value::Integer(kind::I32, encoding))];
            fields.extend(within.clone());
            Value::Struct(fields)
        };
        match place {
            0 => fields.push((5, encoding_of(2))),
            1 => fields.push((8, encoding_of(4))),
            // Neither: another structure has it.
            _ => fields.extend([(5, encoding_of(4)), (7, encoding_of(2)), (8, encoding_of(2))]),
        }
        fields.extend(others);
        let (page, is_all) = read(fields);
        match sizes.map(u64::try_from) {
            [Ok(bytes), Ok(stored)] => {
                prop_assert_eq!(page.unwrap(), (bytes, stored, place < 2 && encoding == DELTA_BYTE_ARRAY));
                prop_assert!(is_all);
            }
            _ => prop_assert!(page.is_err()),
        }
    }
}

#[test]
fn structures_within_structures_are_read_to_a_limit() {
    for is_list in [false, true] {
        let nested = |n: usize| {
            let within = |value| match is_list {
                true => Value::List(kind::LIST, 1, Box::new(value)),
                false => Value::Struct(vec![(1, value)]),
            };
            let value = (0..n).fold(Value::Byte(0), |value, _| within(value));
            read(vec![(2, Value::Integer(kind::I32, 7)), (9, value)]).0
        };
        for n in 0..=MAX_DEPTH {
            assert_eq!(nested(n).unwrap(), (7, 0, false));
        }
        for n in [MAX_DEPTH + 1, 1_000] {
            assert!(nested(n).is_err());
        }
    }
}
