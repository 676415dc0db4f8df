package import HTTPServer
package import JSON
import PushModel

/// Reads the body of a request.
package enum RequestBody {
  /// How much of the sender's text an answer may quote. Scalars, because a character may be as long as the body.
  private static let maximumQuote = 200

  /// Returns the body as a JSON object, for any content type: many clients send another one. `types` ends the message about a
  /// body that is not JSON.
  package static func object(_ body: [UInt8], of types: String = ", of any content type") throws(Refusal) -> JSONValue {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: body)
    } catch {
      throw Refusal(.notJSON, nil, "\(error); bodies are read as JSON\(types)")
    }
    guard value.members != nil else { throw Refusal(.notJSON, nil, "expected an object") }
    return value
  }

  /// Returns the body as a JSON object. The body may also be a form, of which each field becomes a string. A body that begins
  /// with a brace is JSON in any case, because some tools send the content type of a form by default.
  package static func objectOrForm(_ request: HTTPRequest) throws(Refusal) -> JSONValue {
    let type = request.headers["content-type"]?.lowercased() ?? ""
    let first = request.body.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
    guard type.hasPrefix("application/x-www-form-urlencoded"), first != UInt8(ascii: "{") else {
      return try object(request.body, of: "; a form needs the content type application/x-www-form-urlencoded")
    }
    guard let text = String(validating: request.body, as: UTF8.self), let items = FormEncoding.items(of: text) else {
      throw invalidForm("broken percent escape, or no UTF-8")
    }
    var names: Set<ExactText> = []
    for (name, _) in items where !names.insert(ExactText(name)).inserted {
      throw invalidForm("field given twice: \(String(name.unicodeScalars.prefix(maximumQuote)))")
    }
    return .object(items.map { JSONMember(key: $0.name, value: .string($0.value)) })
  }

  private static func invalidForm(_ message: String) -> Refusal {
    .invalid("form", "Invalid form in request body", message)
  }
}
