public import JSON

/// Something that other programs may want to know, as it is written to ``EventStream``.
public struct Event: Sendable, Equatable {
  public let type: EventType
  /// Unix milliseconds.
  public let at: Int64
  public let data: JSONObject

  public init(_ type: EventType, at: Int64, data: JSONObject) {
    self.type = type
    self.at = at
    self.data = data
  }

  /// `{"type":"token.removed","at":1764000000000,"data":{…}}`
  public var json: [UInt8] { (["type": type.rawValue, "at": at, "data": data] as JSONObject).bytes }
}

extension String {
  /// Nil if the text is empty, so that a member with it is left out.
  package var unlessEmpty: String? { isEmpty ? nil : self }
}

/// A device, as events describe it.
public struct EventDevice: Sendable, Equatable {
  public var token: String
  /// Nil or empty for an anonymous device, and for that of an instance.
  public var user: String?
  public var instance: String?
  public var app: String?
  public var environment: String?
  public var platform: String?
  /// Nil for `app`.
  public var kind: String?
  /// The phone, if the app names it.
  public var deviceID: String?
  /// The Live Activity, or the attributes type, that the token is for.
  public var activity: String?

  public init(
    token: String, user: String? = nil, instance: String? = nil, app: String? = nil, environment: String? = nil,
    platform: String? = nil, kind: String? = nil, deviceID: String? = nil,
    activity: String? = nil
  ) {
    self.token = token
    self.user = user
    self.instance = instance
    self.app = app
    self.environment = environment
    self.platform = platform
    self.kind = kind
    self.deviceID = deviceID
    self.activity = activity
  }

  fileprivate var object: JSONObject {
    [
      "token": token.unlessEmpty, "user": user?.unlessEmpty, "instance": instance?.unlessEmpty,
      "app": app?.unlessEmpty, "environment": environment?.unlessEmpty, "platform": platform?.unlessEmpty,
      "kind": kind, "deviceId": deviceID, "activity": activity,
    ]
  }
}

/// Why a device is no longer registered. Other reasons are those of APNs.
public enum RemovalCause {
  public static let unregistered = "unregistered"
  /// The device got another token.
  public static let replaced = "replaced"
  /// The user had the maximum number of devices of the app, or of all apps.
  public static let limit = "limit"
  /// The token was among a user's, but the device is another user's.
  public static let mismatch = "mismatch"
  /// The device was not registered again for a year.
  public static let expired = "expired"
}

extension Event {
  public static func removed(_ device: EventDevice, reason: String, at now: Int64) -> Event {
    Event(.tokenRemoved, at: now, data: device.object + ["reason": reason.unlessEmpty])
  }

  /// APNs has contradicted the environment `before` of a device.
  public static func corrected(_ device: EventDevice, from before: String?, at now: Int64) -> Event {
    Event(.deviceCorrected, at: now, data: device.object + ["from": before])
  }

  /// What has changed about a device that was registered; nil if only the time has. `before` is nil if it was not
  /// registered.
  public static func change(of device: EventDevice, from before: EventDevice?, at now: Int64) -> Event? {
    if let from = before?.user?.unlessEmpty, from != device.user ?? "" {
      var other = device
      other.user = nil
      return Event(
        .tokenTransferred, at: now, data: other.object + ["from": from, "to": device.user?.unlessEmpty])
    }
    guard before?.object != device.object else { return nil }
    return Event(.tokenRegistered, at: now, data: device.object)
  }
}

/// A job, as events describe it.
public struct EventJob: Sendable, Equatable {
  public var id: String
  public var queue: String
  /// W3C traceparent; nil if the producer set none.
  public var trace: String?

  public init(id: String, queue: String, trace: String? = nil) {
    self.id = id
    self.queue = queue
    self.trace = trace
  }

  package var object: JSONObject {
    ["id": id.unlessEmpty, "queue": queue.unlessEmpty, "trace": trace?.unlessEmpty]
  }
}

extension Event {
  /// A job that was moved to the dead letters.
  public static func dead(
    _ job: EventJob, reason: String, attempts: Int, isUncertain: Bool = false, at now: Int64
  ) -> Event {
    let data = job.object + ["reason": reason.unlessEmpty, "attempts": attempts]
    return Event(isUncertain ? .jobUncertain : .jobDead, at: now, data: data)
  }
}
