/// What a device token is for. A phone has a token of its own for each kind, and APNs accepts each only under the topic of its
/// kind.
public enum DeviceKind: String, Sendable, CaseIterable {
  case app, voip, complication, fileprovider, location, widgets, controls, pushtotalk
  /// A push-to-start token: it starts Live Activities of one attributes type.
  case pushtostart
  /// The update token of one Live Activity on one device.
  case activity

  /// The kinds that an app registers as devices. Tokens of Live Activities have an API of their own.
  public static let ofDevices = allCases.filter { !$0.isOfActivities }

  public var isOfActivities: Bool { self == .pushtostart || self == .activity }

  /// How long a registration is kept, in seconds: a year; a day for `pushtotalk`, whose tokens are made for each channel that is
  /// joined; 12 hours for `activity`, because no Live Activity is shown longer.
  public var lifetime: Int {
    switch self {
    case .pushtotalk: 86_400
    case .activity: 43_200
    default: 31_536_000
    }
  }
}
