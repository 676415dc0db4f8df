import HTTPClient
import PushModel

/// Why a request about channels has no result.
public enum ChannelError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Apple's server has refused it.
  case refused(APNsAnswer)
  /// The server has not got it.
  case unreachable(String)
  /// The server may have got it, but no usable answer has come.
  case uncertain(String)
  /// The provider token could not be signed.
  case signing(String)

  /// Of a request that changes nothing unless the server reads it.
  init(_ error: HTTPClientError) {
    switch error {
    case .configuration, .unresolved, .refused, .certificate: self = .unreachable(error.description)
    case .timedOut, .connection: self = .uncertain(error.description)
    }
  }

  /// Whether APNs does not know the channel.
  public var isOfUnknownChannel: Bool {
    guard case .refused(let answer) = self else { return false }
    return answer.reason == "ChannelNotRegistered" || answer.reason == "BadChannelId"
  }

  public var description: String {
    switch self {
    case .refused(let answer):
      let advice = PushReason.of(answer.reason ?? "").advice
      return "APNs refuses it with \(answer.status) \(answer.reason ?? "")" + (advice.map { ". \($0)" } ?? "")
    case .unreachable(let why): return "the server cannot be reached: \(why)"
    case .uncertain(let why): return "no usable answer has come, so it may have been done: \(why)"
    case .signing(let why): return why
    }
  }
}
