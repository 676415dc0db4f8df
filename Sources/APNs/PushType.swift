/// The `apns-push-type` of a push.
public enum PushType: String, Sendable, CaseIterable {
  case alert, background, voip, complication, fileprovider, location, liveactivity, pushtotalk, controls, widgets, mdm

  /// The topic that Apple expects for this type: the bundle id and a suffix. For `mdm` pass the topic itself.
  public func topic(bundleID: String) -> String {
    let suffix = topicSuffix
    return suffix.isEmpty ? bundleID : bundleID + suffix
  }

  /// The only valid value for `background`; elsewhere what delivers at once.
  public var defaultPriority: Int {
    self == .background ? 5 : 10
  }

  /// Apple's limit of the payload.
  public var maximumPayloadBytes: Int {
    self == .voip ? 5120 : 4096
  }

  private var topicSuffix: String {
    switch self {
    case .alert, .background, .mdm: ""
    case .voip: ".voip"
    case .complication: ".complication"
    case .fileprovider: ".pushkit.fileprovider"
    case .location: ".location-query"
    case .liveactivity: ".push-type.liveactivity"
    case .pushtotalk: ".voip-ptt"
    case .controls: ".push-type.controls"
    case .widgets: ".push-type.widgets"
    }
  }
}
