/// Returns bodies that every API must refuse, each with its fault. `fields` are the members of a valid body, without braces.
package func hostileBodies(_ fields: String) -> [(what: String, bytes: [UInt8])] {
  let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
  let texts: [(String, String)] = [
    ("empty", ""), ("white space", "  \n"), ("no JSON", "hello"), ("cut short", "{\(fields)"),
    ("more behind", "{\(fields)} {}"), ("an array", "[{\(fields)}]"), ("a string", "\"x\""), ("a number", "17"),
    ("null", "null"), ("nested too deep", #"{\#(fields),"x":\#(deep)}"#), ("nothing but depth", deep),
    ("a key twice", #"{\#(fields),"x":1,"x":2}"#), ("a key of ours twice", "{\(fields),\(fields)}"),
    ("half a surrogate pair", #"{\#(fields),"x":"\ud800"}"#), ("the other half", #"{\#(fields),"x":"\udc00x"}"#),
    ("a raw control character", "{\(fields),\"x\":\"\u{1}\"}"), ("a raw NUL", "{\(fields),\"x\":\"\0\"}"),
    ("NaN", #"{\#(fields),"x":NaN}"#), ("a byte order mark", "\u{FEFF}{\(fields)}"),
    ("a long key twice", #"{"\#(String(repeating: "k", count: 9000))":1,"\#(String(repeating: "k", count: 9000))":1}"#),
  ]
  return texts.map { ($0.0, Array($0.1.utf8)) } + [
    ("no UTF-8", Array("{\(fields),\"x\":\"".utf8) + [0xFF, 0xFE] + Array("\"}".utf8)),
    ("bytes", [0, 1, 2, 0xFF]),
  ]
}

/// Returns a valid body of `count` bytes.
package func padded(_ fields: String, to count: Int) -> [UInt8] {
  let start = Array("{\(fields),\"x\":\"".utf8)
  return start + Array(repeating: UInt8(ascii: "x"), count: count - start.count - 2) + Array("\"}".utf8)
}
