public import PushModel

/// Where an app has channels: an environment that a key may sign for.
public struct ChannelPlace: Sendable {
  public let environment: PushEnvironment
  public let bundleID: String
  let configuration: APNsConfiguration

  /// The URL of the origin that manages the channels.
  public var managementURL: String { configuration.channelsURL(of: environment) }

  /// The URL of the origin that takes broadcasts to them.
  public var broadcastURL: String { configuration.broadcastOrigin(of: environment).url }

  /// The URL of Apple's other host for broadcasts, which its documentation names, too. Nil if a setting names an origin.
  public var otherBroadcastURL: String? {
    guard configuration.broadcasts == nil, broadcastURL == environment.origin + ":443" else { return nil }
    return "https://"
      + (environment == .production ? BroadcastOrigins.appleHost : BroadcastOrigins.appleSandboxHost)
  }

  /// The places of a bundle id, production first. `configuration` returns how its pushes are sent in an environment, nil if no
  /// key may sign there. What one origin manages for both environments are the channels of the default one.
  public static func all(
    of bundleID: String, _ configuration: (PushEnvironment) -> APNsConfiguration?, default environment: PushEnvironment
  ) -> [ChannelPlace] {
    let places = PushEnvironment.allCases.compactMap { environment in
      configuration(environment).map {
        ChannelPlace(environment: environment, bundleID: bundleID, configuration: $0)
      }
    }
    guard places.count > 1, places.allSatisfy(\.configuration.hasOneChannelsOrigin) else { return places }
    return places.filter { $0.environment == environment }
  }
}
