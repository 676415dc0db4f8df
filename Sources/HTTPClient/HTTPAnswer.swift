/// The answer to an ``HTTPCall``.
public struct HTTPAnswer: Sendable {
  public var status: Int
  /// In their order, names in lower case.
  public var headers: [(name: String, value: String)]
  /// At most ``HTTPCall/maximumAnswerBytes``.
  public var body: [UInt8]
  /// Whether the body was longer.
  public var isTruncated: Bool

  public init(
    status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [], isTruncated: Bool = false
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.isTruncated = isTruncated
  }

  /// The first value of a field. `name` is in lower case.
  public subscript(name: String) -> String? {
    headers.first { $0.name == name }?.value
  }
}
