/// One of APNs' two environments. A device token belongs to exactly one of them.
public enum PushEnvironment: String, Sendable, CaseIterable {
  case production, sandbox
}

/// The kind of a push: APNs' `apns-push-type`.
public enum PushType: String, Sendable, CaseIterable {
  case alert, background, voip, complication, fileprovider, location, liveactivity, pushtotalk, controls, widgets, mdm

  /// The topic that APNs expects for this type: the bundle id and a suffix. For `mdm`, pass the topic itself.
  public func topic(bundleID: String) -> String {
    let suffix = topicSuffix
    return suffix.isEmpty ? bundleID : bundleID + suffix
  }

  /// The bundle id of a topic that ``topic(bundleID:)`` made.
  public func bundleID(ofTopic topic: String) -> String {
    topic.hasSuffix(topicSuffix) ? String(topic.dropLast(topicSuffix.count)) : topic
  }

  /// The largest payload that APNs accepts, in bytes.
  public var maximumPayloadBytes: Int { self == .voip ? 5120 : 4096 }

  /// The `apns-priority` of a push without one. For `background` it is the only valid one.
  public var defaultPriority: Int { self == .background ? 5 : 10 }

  /// Whether a push without members of `aps` is useful, because the app itself decides what to do with the data.
  public var isCarriedByDataAlone: Bool {
    switch self {
    case .alert, .liveactivity: false
    default: true
    }
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
