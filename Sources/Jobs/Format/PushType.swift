/// The `apns-push-type` header.
public enum PushType: String, Sendable, CaseIterable {
  case alert, background, voip, complication, fileprovider, location, liveactivity, pushtotalk, controls, widgets, mdm

  /// Of the whole payload, in bytes, as APNs takes it.
  public var maximumPayloadBytes: Int { self == .voip ? 5120 : 4096 }

  /// The `apns-priority` of a job that names none.
  public var defaultPriority: Int { self == .background ? 5 : 10 }

  /// Whether a push without any part of `aps` makes sense: the app itself decides what to do with it.
  var isCarriedByDataAlone: Bool {
    switch self {
    case .alert, .liveactivity: false
    default: true
    }
  }
}
