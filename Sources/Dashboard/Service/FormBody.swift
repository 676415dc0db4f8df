import HTTPServer

/// Reads the form of a request.
enum FormBody {
  /// Returns the fields in their order. Throws 415 for another type, and 400 for a form that cannot be read.
  static func fields(of request: HTTPRequest) throws(PageError) -> [(name: String, value: String)] {
    let type = request.headers["Content-Type"]?.lowercased() ?? ""
    guard type.hasPrefix("application/x-www-form-urlencoded") else {
      throw PageError(415, "Not a form", "An action is sent as a form. Nothing was changed.")
    }
    guard let text = String(validating: request.body, as: UTF8.self), let fields = FormEncoding.items(of: text) else {
      throw .badRequest("The form cannot be read, or has too many fields. Nothing was changed.")
    }
    return fields
  }
}
