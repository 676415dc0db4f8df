import HTTPClient

/// Finds out without credentials which origin serves channels. Changes nothing.
public struct ChannelProbe: Sendable {
  /// What an origin answers.
  public enum Answer: Sendable, Equatable {
    /// It serves the path: it asks for credentials, or for another method. The text is its answer.
    case serves(String)
    /// It does not know the path.
    case differs(String)
    case unreachable(String)

    init(status: Int, body: [UInt8]) {
      let text = "\(status)" + (RefusalBody(body).reason.map { " \($0)" } ?? "")
      self = [400, 401, 403, 405].contains(status) ? .serves(text) : .differs(text)
    }
  }

  private static let timeout = Duration.seconds(10)

  private let place: ChannelPlace
  private let http: HTTPClient

  public init(_ place: ChannelPlace) {
    self.place = place
    http = HTTPClient(label: "martlet.apns.probe", authorities: place.configuration.authorities)
  }

  /// Asks the origin that manages channels.
  public func management() async -> Answer {
    await ask(.get, "\(place.managementURL)/1/apps/\(place.bundleID)/all-channels")
  }

  /// Asks an origin that may take broadcasts.
  public func broadcasts(at url: String) async -> Answer {
    await ask(.post, "\(url)/4/broadcasts/apps/\(place.bundleID)")
  }

  private func ask(_ method: HTTPCall.Method, _ url: String) async -> Answer {
    var call = HTTPCall(url: url)
    call.method = method
    call.prefersHTTP2 = true
    call.timeout = ChannelProbe.timeout
    do throws(HTTPClientError) {
      let answer = try await http.send(call)
      return Answer(status: answer.status, body: answer.body)
    } catch {
      return .unreachable(error.description)
    }
  }
}
