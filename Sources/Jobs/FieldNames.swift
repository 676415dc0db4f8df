import JSON

/// The keys of one of a job's objects, and how errors name them; made once.
struct FieldNames: Sendable {
  let keys: JSONKeys
  /// `to.`, or empty for the job itself.
  let parent: String
  /// `to.user`, in the order of the keys.
  let paths: [String]

  init(_ names: [String], in parent: String) {
    keys = JSONKeys(names)
    self.parent = parent
    paths = names.map { parent + $0 }
  }
}
