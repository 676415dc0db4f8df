public import PushModel
import Events
import JSON

/// The device of an instance, stored under `push:instance:<id>`.
public struct InstanceRecord: Sendable, Equatable {
  public var token: DeviceToken
  public var environment: PushEnvironment?
  public var bundleID: String?
  /// Unix milliseconds.
  public var updatedAt: Int64
  /// False after APNs has refused the token as invalid; the device must register again.
  public var isActive: Bool
  /// Whether the credential of the instance is disabled or revoked.
  public var isSuspended: Bool
  /// As ``DeviceMetadata/unreachable``.
  public var unreachable: Int64?

  public init(
    token: DeviceToken, environment: PushEnvironment?, bundleID: String? = nil, updatedAt: Int64, isActive: Bool = true,
    isSuspended: Bool = false
  ) {
    self.token = token
    self.environment = environment
    self.bundleID = bundleID
    self.updatedAt = updatedAt
    self.isActive = isActive
    self.isSuspended = isSuspended
  }

  /// Whether pushes are sent to the device.
  var isReachable: Bool { isActive && !isSuspended }

  /// Returns nil if `bytes` is not an object with a well-formed token.
  public init?(parsing bytes: [UInt8]) {
    let value: JSONValue
    do { value = try JSONValue(parsing: bytes) } catch { return nil }
    guard let token = value["token"]?.string, DeviceToken.isWellFormed(token) else { return nil }
    self.init(
      token: DeviceToken(token), environment: value["environment"]?.string.flatMap(PushEnvironment.init(named:)),
      bundleID: value["bundleId"]?.string, updatedAt: value["updatedAt"]?.time ?? 0,
      isActive: value["active"]?.bool ?? true, isSuspended: value["suspended"]?.bool ?? false)
    unreachable = value["unreachable"]?.count.map { Int64($0) }
  }

  public func json() -> [UInt8] {
    let object: JSONObject = [
      "token": token.text, "environment": environment?.rawValue, "bundleId": bundleID, "updatedAt": updatedAt,
      "active": isActive, "suspended": isSuspended ? true : nil, "unreachable": unreachable,
    ]
    return object.bytes
  }
}

extension InstanceRecord {
  /// The events of a registration. `before` is the record that it replaced.
  func events(ofInstance id: String, from before: InstanceRecord?, at now: Int64) -> [Event] {
    let before = before?.isActive == true ? before : nil
    var events: [Event] = []
    if let before, before.token != token {
      events.append(.removed(before.device(ofInstance: id), reason: RemovalCause.replaced, at: now))
    }
    let same = before?.token == token ? before : nil
    let change = Event.change(of: device(ofInstance: id), from: same?.device(ofInstance: id), at: now)
    return events + (change.map { [$0] } ?? [])
  }

  func device(ofInstance id: String) -> EventDevice {
    EventDevice(token: token.text, instance: id, app: bundleID, environment: environment?.rawValue)
  }
}
