public import EventLoop
import HTTPClient
import JSON
public import PushModel
import Telemetry

/// Manages the channels of an app in one environment, at Apple's server for that.
///
/// Source: Apple's "Sending channel management requests to APNs". Requests are rare, so each waits for the one before.
@EventLoop
public final class ChannelClient {
  /// With 10,000 channels a list has about 300 KB.
  private nonisolated static let maximumListBytes = 4 * 1024 * 1024
  private nonisolated static let timeout = Duration.seconds(20)
  /// Reasons for which another key of the team, or a newer token, may be accepted.
  private nonisolated static let keyReasons: Set = [
    "InvalidProviderToken", "ExpiredProviderToken", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken",
    "TopicMismatch",
  ]

  public nonisolated let place: ChannelPlace
  private let http: HTTPClient
  /// Those of the fleet: workers with the same keys have the same.
  private let tokens: [ProviderToken]
  private let path: String

  public init(_ place: ChannelPlace) {
    self.place = place
    http = HTTPClient(label: "martlet.apns.channels", authorities: place.configuration.authorities)
    tokens = place.configuration.keys.map { ProviderToken(key: $0, log: .silent) }
    path = "\(place.managementURL)/1/apps/\(place.bundleID)"
  }

  /// Creates a channel and returns its id. After ``ChannelError/uncertain(_:)`` there may be a channel that nothing names.
  public func create(_ storage: ChannelStorage) async throws(ChannelError) -> String {
    var call = HTTPCall(url: "\(path)/channels", headers: [("content-type", "application/json")])
    call.body = Array(#"{"message-storage-policy":\#(storage.policy),"push-type":"LiveActivity"}"#.utf8)
    let answer = try await send(call, expecting: 201)
    guard let id = answer["apns-channel-id"], ChannelID.isWellFormed(id) else {
      throw .uncertain("the answer has no channel id")
    }
    return id
  }

  /// Returns what APNs keeps of the broadcasts to a channel.
  public func storage(of id: String) async throws(ChannelError) -> ChannelStorage {
    var call = HTTPCall(url: "\(path)/channels", headers: [("apns-channel-id", id)])
    call.method = .get
    let body = try json(try await send(call, expecting: 200))
    let policy = body["message-storage-policy"]?.integer(in: 0...1)
    guard let storage = policy.flatMap({ ChannelStorage(policy: Int($0)) }) else {
      throw .uncertain("the answer names no storage policy that is known")
    }
    return storage
  }

  /// Returns the ids of all channels of the app.
  public func list() async throws(ChannelError) -> [String] {
    var call = HTTPCall(url: "\(path)/all-channels")
    call.method = .get
    call.maximumAnswerBytes = ChannelClient.maximumListBytes
    guard let channels = try json(try await send(call, expecting: 200))["channels"]?.array else {
      throw .uncertain("the answer is not a list of channels")
    }
    return channels.compactMap(\.string).filter(ChannelID.isWellFormed)
  }

  /// Deletes a channel, for good.
  public func delete(_ id: String) async throws(ChannelError) {
    var call = HTTPCall(url: "\(path)/channels", headers: [("apns-channel-id", id)])
    call.method = .delete
    _ = try await send(call, expecting: 204)
  }

  private func json(_ answer: HTTPAnswer) throws(ChannelError) -> JSONValue {
    guard !answer.isTruncated else { throw .uncertain("the answer is too long") }
    do throws(JSONError) {
      return try JSONValue(parsing: answer.body)
    } catch {
      throw .uncertain("the answer is not JSON: \(error)")
    }
  }

  /// Sends a request with the token of each key until one is accepted.
  private func send(_ call: HTTPCall, expecting status: Int) async throws(ChannelError) -> HTTPAnswer {
    var refusal = ChannelError.signing("the provider token could not be signed")
    for token in tokens {
      guard token.prepare(now: Clock.monotonicNanoseconds) else { continue }
      let answer = try await send(call, token)
      if answer.status == status { return answer }
      refusal = ChannelClient.refusal(answer)
      guard case .refused(let reason) = refusal, reason.status == 403, let name = reason.reason,
        ChannelClient.keyReasons.contains(name)
      else { break }
      // If the clock of this machine is not that of the fleet.
      guard name == "ExpiredProviderToken",
        token.renew(afterRefusalOf: token.generation, now: Clock.monotonicNanoseconds)
      else { continue }
      let second = try await send(call, token)
      if second.status == status { return second }
      refusal = ChannelClient.refusal(second)
    }
    throw refusal
  }

  private func send(_ call: HTTPCall, _ token: ProviderToken) async throws(ChannelError) -> HTTPAnswer {
    var call = call
    call.headers.append(("authorization", String(decoding: token.authorization, as: UTF8.self)))
    call.timeout = ChannelClient.timeout
    call.prefersHTTP2 = true
    do throws(HTTPClientError) {
      return try await http.send(call)
    } catch {
      throw ChannelError(error)
    }
  }

  /// An error of the server itself says nothing about what was done.
  private static func refusal(_ answer: HTTPAnswer) -> ChannelError {
    let refusal = APNsAnswer(status: answer.status, reason: RefusalBody(answer.body).reason ?? "HTTP_\(answer.status)")
    guard answer.status >= 400, answer.status != 500 else {
      return .uncertain("the server answered \(answer.status) \(refusal.reason ?? "")")
    }
    return .refused(refusal)
  }
}
