import HTTPServer

/// The fields of a form, in their order.
struct PageForm: Sendable {
  let fields: [(name: String, value: String)]

  init(_ fields: [(name: String, value: String)] = []) {
    self.fields = fields
  }

  /// Reads the form of a request. Throws 415 for another type, and 400 for a form that cannot be read.
  init(of request: HTTPRequest) throws(PageError) {
    let type = request.headers["content-type"]?.lowercased() ?? ""
    guard type.hasPrefix("application/x-www-form-urlencoded") else {
      throw PageError(415, "Not a form", "An action is sent as a form. Nothing was changed.")
    }
    guard let text = String(validating: request.body, as: UTF8.self), let fields = FormEncoding.items(of: text) else {
      throw .badRequest("The form cannot be read, or has too many fields. Nothing was changed.")
    }
    self.fields = fields
  }

  /// The first value of a field; nil if it is absent or empty.
  subscript(name: String) -> String? {
    fields.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
  }
}
