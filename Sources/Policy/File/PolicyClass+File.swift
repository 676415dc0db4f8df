import Jobs
import JSON

extension PolicyClass {
  /// A day.
  static let maximumSeconds: Int64 = 86_400

  /// What is missing or wrong has been reported, and is replaced by anything.
  init(_ value: JSONValue, _ path: String, _ reader: inout PolicyReader) {
    self.init(name: "", urgency: .low, preview: "", quiet: .suppress)
    let keys = ["name", "urgency", "preview", "collapse", "spacingSeconds", "quiet"]
    guard let object = reader.object(value, path, keys: keys) else { return }
    reader.require(object, "name", "urgency", "preview", "quiet")
    name = reader.name(object, "name") ?? path
    urgency = reader.choice(object, "urgency", of: Urgency.self) ?? .low
    preview = reader.text(object, "preview", length: JobDraft.previewLength) ?? ""
    quiet = reader.choice(object, "quiet", of: QuietBehaviour.self) ?? .suppress
    spacingSeconds = reader.integer(object, "spacingSeconds", in: 0...PolicyClass.maximumSeconds) ?? 0
    guard let window = object["collapse"] else { return }
    guard let window = reader.object(window, object.path("collapse"), keys: ["seconds", "shared"]) else { return }
    reader.require(window, "seconds")
    let seconds = reader.integer(window, "seconds", in: 1...PolicyClass.maximumSeconds)
    collapse = Collapse(seconds: seconds ?? 1, isShared: reader.boolean(window, "shared") ?? false)
  }
}
