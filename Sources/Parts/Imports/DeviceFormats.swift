import Backup
import JSON
import PushModel
import Registry

extension CSVReader.Form {
  /// Columns with the names of Martlet's own fields. Dates are as ``ForeignDevice/date(_:)`` reads them.
  static func devices(app: String?) -> Self {
    Self(
      required: ["token"],
      optional: ["user", "bundleId", "environment", "kind", "deviceId", "platform", "createdAt", "updatedAt"]
    ) { row in
      guard row["platform"].map({ Platform(rawValue: $0.lowercased()) == .ios }) ?? true else {
        return .refused(.otherPlatform)
      }
      // Whoever makes a table for Martlet can correct its dates.
      func date(_ column: String) -> JSONValue? { ForeignDevice.date(row[column]) ?? row[column].map { .string($0) } }
      return ForeignDevice(
        token: row["token"], user: row["user"], app: row["bundleId"] ?? app, environment: row["environment"],
        kind: row["kind"], deviceID: row["deviceId"], createdAt: date("createdAt"), updatedAt: date("updatedAt")
      ).entry
    }
  }

  /// https://documentation.onesignal.com/reference/csv-export
  static func oneSignal(app: String?) -> Self {
    Self(required: ["identifier", "device_type"], optional: nil) { row in
      guard row["device_type"] == "0" || row["device_type"]?.lowercased() == "ios" else {
        return .refused(.otherPlatform)
      }
      guard !["t", "true"].contains(row["invalid_identifier"]) else { return .refused(.disabled) }
      return ForeignDevice(
        token: row["identifier"], user: row["external_user_id"], app: app,
        createdAt: ForeignDevice.date(row["created_at"]), updatedAt: ForeignDevice.date(row["last_active"])
      ).entry
    }
  }

  /// `type` is the class of a notification or an app: `Rpush::Apns…`.
  static func rpush(app: String?) -> Self {
    Self(required: ["device_token"], optional: nil) { row in
      guard row["type"].map({ $0.contains("::Apns") }) ?? true else { return .refused(.otherPlatform) }
      return ForeignDevice(
        token: row["device_token"], user: row["user"], app: row["bundle_id"] ?? app, environment: row["environment"],
        createdAt: ForeignDevice.date(row["created_at"]), updatedAt: ForeignDevice.date(row["updated_at"])
      ).entry
    }
  }
}

extension ObjectListReader.Form {
  /// https://docs.aws.amazon.com/sns/latest/api/API_ListEndpointsByPlatformApplication.html
  static func sns(app: String?) -> Self {
    Self(wrapper: "\"Endpoints\"", list: "a list of endpoints", element: "an endpoint") { endpoint in
      [sns(endpoint, app)]
    }
  }

  private static func sns(_ endpoint: JSONValue, _ app: String?) -> BackupEntry {
    // arn:aws:sns:<region>:<account>:endpoint/<platform>/<application>/<uuid>
    guard let resource = endpoint["EndpointArn"]?.string?.split(separator: ":").last?.split(separator: "/"),
      resource.first == "endpoint", resource.count >= 3
    else { return .refused(.malformedRecord) }
    let platform = resource[1]
    let (isVoip, isSandbox) = (platform.contains("VOIP"), platform.hasSuffix("_SANDBOX"))
    guard ["APNS", "APNS_SANDBOX", "APNS_VOIP", "APNS_VOIP_SANDBOX", "MACOS", "MACOS_SANDBOX"].contains(platform) else {
      return .refused(.otherPlatform)
    }
    let attributes = endpoint["Attributes"]
    guard attributes?["Enabled"]?.string?.lowercased() != "false" else { return .refused(.disabled) }
    let user = attributes?["CustomUserData"]?.presentText
    // An owner must not be guessed from data of another form.
    guard user.map({ !$0.hasPrefix("{") && !$0.hasPrefix("[") }) ?? true else { return .refused(.malformedUsername) }
    return ForeignDevice(
      token: attributes?["Token"]?.presentText, user: user, app: app, environment: isSandbox ? "sandbox" : "production",
      kind: isVoip ? "voip" : nil
    ).entry
  }

  /// https://github.com/appleboy/gorush#request-body
  static func gorush(app: String?) -> Self {
    Self(wrapper: "\"notifications\"", list: "bodies of /api/push", element: "a notification") { notification in
      guard let tokens = notification["tokens"]?.array, !tokens.isEmpty else { return [.refused(.noToken)] }
      let isIOS = notification["platform"]?.integer(in: 0...Int64.max) == 1
      return tokens.map { isIOS ? gorush($0, notification, app) : .refused(.otherPlatform) }
    }
  }

  private static func gorush(_ token: JSONValue, _ notification: JSONValue, _ app: String?) -> BackupEntry {
    guard token.string != nil else { return .refused(.malformedToken) }
    let environments = ["production", "development"].filter { notification[$0]?.bool == true }
    var topic = notification["topic"]?.presentText
    let suffix = ".voip"
    let isVoip = topic?.hasSuffix(suffix) ?? false
    if isVoip { topic?.removeLast(suffix.count) }
    return ForeignDevice(
      token: token.presentText, app: topic ?? app, environment: environments.count == 1 ? environments[0] : nil,
      kind: isVoip ? "voip" : nil
    ).entry
  }
}
