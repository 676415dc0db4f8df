import JSON

/// An object of the file and where it stands.
struct PolicyObject {
  let value: JSONValue
  let path: String

  subscript(key: String) -> JSONValue? { value[key] }

  func path(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }
}
