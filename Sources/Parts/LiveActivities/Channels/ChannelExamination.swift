import APNs
import EventLoop
import Operations
import Program
import PushModel
import Redis
import Registry
import Telemetry

/// Asks the origins that manage channels and take broadcasts whether they do, for the apps that have channels.
@EventLoop
struct ChannelExamination {
  /// Apps and environments that are asked about.
  private static let maximumAsked = 16
  private static let patience = Duration.seconds(5)

  private let settings: ChannelSettings
  private let redis: RedisEndpoint
  /// The apps to ask about, whether they have channels or not.
  private let asked: [String]

  init(settings: ChannelSettings, redis: RedisEndpoint, isAsked: Bool) {
    self.settings = settings
    self.redis = redis
    asked = isAsked ? settings.bundleIDs : []
  }

  func findings() async -> [Finding] {
    let bundleIDs = Set(await used() + asked).sorted()
    let places = bundleIDs.flatMap { settings.places(of: $0) }
    var findings: [Finding] = []
    let tasks = places.prefix(ChannelExamination.maximumAsked).map { place in
      EventLoop.start { await ChannelExamination.findings(place) }
    }
    for task in tasks { findings += await task.value }
    if places.count > ChannelExamination.maximumAsked {
      findings.append(
        Finding(
          "channels", .fact,
          "\(places.count - ChannelExamination.maximumAsked) more apps and environments were not asked about"))
    }
    return findings
  }

  /// The apps that have channels. What is wrong with Redis is said elsewhere.
  private func used() async -> [String] {
    let connection = RedisClient(endpoint: redis, name: "martlet-doctor", log: .silent)
    connection.start()
    defer { connection.close() }
    do {
      try await connection.ready(within: ChannelExamination.patience)
      return try await Channels(connection: connection).list().map(\.bundleID)
    } catch {
      return []
    }
  }

  private static func findings(_ place: ChannelPlace) async -> [Finding] {
    let probe = ChannelProbe(place)
    let management = await probe.management()
    let broadcasts = await probe.broadcasts(at: place.broadcastURL)
    var other: (url: String, answer: ChannelProbe.Answer)?
    if let url = place.otherBroadcastURL { other = (url, await probe.broadcasts(at: url)) }
    return [
      managementFinding(place, management), broadcastFinding(place, broadcasts, other: other),
    ]
  }

  nonisolated static func managementFinding(_ place: ChannelPlace, _ answer: ChannelProbe.Answer) -> Finding {
    let check = "channels of \(place.bundleID), \(place.environment.rawValue)"
    let url = place.managementURL
    return switch answer {
    case .serves(let text): Finding(check, .ok, "\(url) manages them: it answers \(text) without credentials")
    case .differs(let text):
      Finding(
        check, .problem, "\(url) does not manage channels: it answers \(text)",
        fix: "check APNS_CHANNELS_ENDPOINT_OVERRIDE, channelsEndpoint of the app, and proxies")
    case .unreachable(let why):
      Finding(
        check, .problem, "\(url) cannot be reached: \(why)",
        fix: "allow its port (2196, sandbox 2195) in firewall and proxy; martlet channels needs it, workers do not")
    }
  }

  /// `other` is Apple's other host for broadcasts.
  nonisolated static func broadcastFinding(
    _ place: ChannelPlace, _ answer: ChannelProbe.Answer, other: (url: String, answer: ChannelProbe.Answer)?
  ) -> Finding {
    let check = "broadcasts of \(place.bundleID), \(place.environment.rawValue)"
    let also: String
    if case (let url, .serves(let text))? = other { also = "; \(url) answers \(text)" } else { also = "" }
    let fault: String
    switch answer {
    case .serves(let text):
      return Finding(
        check, .ok, "\(place.broadcastURL) takes them: it answers \(text) without credentials\(also)")
    case .differs(let text): fault = "\(place.broadcastURL) takes no broadcasts: it answers \(text)"
    case .unreachable(let why): fault = "\(place.broadcastURL) cannot be reached: \(why)"
    }
    guard let other, !also.isEmpty else {
      return Finding(
        check, .problem, fault,
        fix: "check APNS_BROADCAST_ENDPOINT_OVERRIDE, broadcastEndpoint of the app, firewall and proxies")
    }
    return Finding(
      check, .problem, fault + also,
      fix: "set APNS_BROADCAST_ENDPOINT_OVERRIDE, or broadcastEndpoint of the app, to \(other.url)")
  }
}
