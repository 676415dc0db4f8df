/// What a server allows.
public struct HTTPServerConfiguration: Sendable {
  public var address: HTTPAddress
  /// Larger bodies are answered 413.
  public var maximumBodyBytes = 65_536
  /// Request line and header fields together; more is answered 431.
  public var maximumHeaderBytes = 16_384
  /// A peer that is silent for so long, or takes longer to send one request, is cut off. Seconds.
  public var connectionTimeout = 30
  /// Fewer when the process may not open so many descriptors. Over nine tenths of it, those that wait for a request are
  /// closed: those of the address with the most connections first, and of these the longest waiting.
  public var maximumConnections = 10_000
  /// The whole answer to a request that never reaches the handler: 400 (malformed, or more query items than
  /// ``FormEncoding/maximumItems``), 413, or 431 (more than 100 header fields, or a head over ``maximumHeaderBytes``). The request comes without its body; the path
  /// of a bad target is what was sent.
  public var refusal: @Sendable (_ status: Int, _ request: HTTPRequest) -> HTTPResponse = { status, _ in
    switch status {
    case 413: .text("body too large\n", status: status)
    case 431: .text("header fields too large\n", status: status)
    default: .text("bad request\n", status: status)
    }
  }

  public init(address: HTTPAddress) {
    self.address = address
  }
}
