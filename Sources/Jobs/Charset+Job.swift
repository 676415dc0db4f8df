package import PushModel

extension Charset {
  /// A job's `id`, and the id of an instance.
  static let id = Charset("._:-", length: 1...128)
  /// A notification class, and a delivery policy.
  package static let className = Charset(
    of: "abcdefghijklmnopqrstuvwxyz0123456789_", length: 1...64, "1 to 64 lower-case letters, digits or _")
}
