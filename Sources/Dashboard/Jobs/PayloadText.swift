import JSON
import PushModel
import Telemetry

/// The text of a job for reading: indented, and with shortened tokens unless an admin reads it.
struct PayloadText {
  private static let indentation = "  "

  let showsTokens: Bool

  func text(_ job: [UInt8]) -> String {
    guard let value = try? JSONValue(parsing: job) else {
      let text = String(decoding: job, as: UTF8.self)
      return showsTokens ? text : TokenMask.masked(text, runs: .base64)
    }
    var text = ""
    write(value, indent: "", isToken: false, to: &text)
    return text
  }

  private func write(_ value: JSONValue, indent: String, isToken: Bool, to text: inout String) {
    let inner = indent + PayloadText.indentation
    switch value {
    case .object(let members) where !members.isEmpty:
      text += "{\n"
      for (place, member) in members.enumerated() {
        text += inner + quoted(member.key) + ": "
        write(member.value, indent: inner, isToken: isToken || TokenMask.isKey(member.key), to: &text)
        text += place < members.count - 1 ? ",\n" : "\n"
      }
      text += indent + "}"
    case .array(let elements) where !elements.isEmpty:
      text += "[\n"
      for (place, element) in elements.enumerated() {
        text += inner
        write(element, indent: inner, isToken: isToken, to: &text)
        text += place < elements.count - 1 ? ",\n" : "\n"
      }
      text += indent + "]"
    case .string(let string):
      let isHidden = isToken && !showsTokens && DeviceToken.isWellFormed(string)
      // A string may hold a job itself.
      let shown = showsTokens ? string : TokenMask.masked(string, runs: .hexadecimal)
      text += quoted(isHidden ? Log.shortened(string) : shown)
    default: text += String(decoding: value.bytes, as: UTF8.self)
    }
  }

  private func quoted(_ string: String) -> String {
    var writer = JSONWriter()
    writer.string(string)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
