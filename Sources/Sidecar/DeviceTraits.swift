package import JSON
package import PushModel
package import Registry

/// What a registration says about its device beside the token, in the same fields of every API. Nil: nothing.
package struct DeviceTraits: Equatable {
  package let bundleID: String?
  package let environment: PushEnvironment?
  package let kind: DeviceKind?
  /// The phone.
  package let deviceID: String?

  /// Null, an empty string, and a `deviceId` that programs write for no value count as absent. Throws 400 for a value that is
  /// not allowed.
  package init(_ body: JSONValue) throws(Refusal) {
    bundleID = try RequestFields.bundleID(body["bundleId"], "bundleId")
    environment = try DeviceTraits.value(body["environment"], "environment", "production, sandbox or development") {
      PushEnvironment(named: $0)
    }
    kind = try DeviceTraits.value(
      body["kind"], "kind", "one of " + DeviceKind.ofDevices.map(\.rawValue).joined(separator: ", ")
    ) {
      DeviceKind(rawValue: $0).flatMap { $0.isOfActivities ? nil : $0 }
    }
    let isAbsent = body["deviceId"]?.string.map(AbsentValue.isCertain) ?? false
    let deviceID = isAbsent ? nil : body["deviceId"]
    self.deviceID = try DeviceTraits.value(deviceID, "deviceId", "1 to 128 letters, digits or any of ._:-") {
      Charset.deviceID.accepts($0) ? $0 : nil
    }
  }

  package var isEmpty: Bool { bundleID == nil && environment == nil && kind == nil && deviceID == nil }

  private static func value<Value>(
    _ sent: JSONValue?, _ field: String, _ expected: @autoclosure () -> String, _ read: (String) -> Value?
  ) throws(Refusal) -> Value? {
    guard let sent, sent != .null, sent != .string("") else { return nil }
    guard let value = sent.string.flatMap(read) else {
      throw .invalid(field, "Invalid \(field)", "\(field): expected \(expected())")
    }
    return value
  }
}

extension Registration {
  /// A registration for `bundleID`, with what the request says beside it.
  package init(
    token: DeviceToken, username: Username, platform: Platform, bundleID: String?, isBundleAssumed: Bool,
    _ traits: DeviceTraits, now: Int64
  ) {
    self.init(
      token: token, username: username, platform: platform, bundleID: bundleID, isBundleAssumed: isBundleAssumed,
      environment: traits.environment, kind: traits.kind, deviceID: traits.deviceID, now: now)
  }
}
