/// The fields of a form, in their order.
struct PageForm: Sendable {
  let fields: [(name: String, value: String)]

  init(_ fields: [(name: String, value: String)] = []) {
    self.fields = fields
  }

  /// The first value of a field; nil if it is absent or empty.
  subscript(name: String) -> String? {
    fields.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
  }
}
