/// One of APNs' two environments. A device token belongs to exactly one of them.
public enum PushEnvironment: String, Sendable, CaseIterable {
  case production, sandbox

  /// Xcode and provisioning profiles call the sandbox `development`. Returns nil for any other name.
  public init?(named name: String) {
    self.init(rawValue: name == "development" ? "sandbox" : name)
  }

  /// The environment that does not know the tokens of this one.
  public var other: PushEnvironment { self == .production ? .sandbox : .production }
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

  /// The bundle id of a topic of a type that has topics of its own; nil for any other text.
  public static func bundleID(ofOwnTopic topic: String) -> String? {
    allCases.lazy.map { $0.bundleID(ofTopic: topic) }.first { $0 != topic }
  }

  /// The kind of the tokens that APNs accepts for this type. Nil: tokens of this type are not registered as devices, so that
  /// only a job that names one is sent.
  public var kind: DeviceKind? {
    switch self {
    case .alert, .background: .app
    case .voip: .voip
    case .complication: .complication
    case .fileprovider: .fileprovider
    case .location: .location
    case .pushtotalk: .pushtotalk
    case .controls: .controls
    case .widgets: .widgets
    case .liveactivity: .activity
    case .mdm: nil
    }
  }

  /// Whether a job of this type may be sent to tokens of `kind`.
  public func isSent(to kind: DeviceKind) -> Bool {
    kind == self.kind || (self == .liveactivity && kind == .pushtostart)
  }

  /// The largest payload that APNs accepts, in bytes.
  public var maximumPayloadBytes: Int { self == .voip ? 5120 : 4096 }

  /// The largest payload of a broadcast to a channel, in bytes.
  public static let maximumBroadcastBytes = 5120

  /// The `apns-priority` of a push without one.
  public var defaultPriority: Int { onlyPriority ?? 10 }

  /// The only `apns-priority` that APNs accepts for this type; nil if the job may choose.
  public var onlyPriority: Int? {
    switch self {
    case .background: 5
    case .pushtotalk: 10
    default: nil
    }
  }

  /// The `apns-expiration` of a push without one, in unix seconds; nil for Apple's own. A call that is over must not ring later.
  public var defaultExpiration: Int64? { self == .voip || self == .pushtotalk ? 0 : nil }

  /// Whether a push only says that the content of an extension has changed, which fetches it.
  public var saysContentChanged: Bool { self == .widgets || self == .controls }

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
