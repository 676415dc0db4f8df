public import PushModel

/// Where the pushes of a bundle id go.
public struct AppTarget: Sendable {
  public let client: APNsClient
  /// The environment of the app's devices that were registered without one; nil for the default of the process.
  public let environment: PushEnvironment?
}
