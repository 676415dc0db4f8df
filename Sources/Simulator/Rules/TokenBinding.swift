/// One of Apple's two environments.
enum GatewayEnvironment: String, CaseIterable, Sendable {
  case production, sandbox
}

/// What a device token was made for. Apple accepts it in this environment and under this topic only.
struct TokenBinding: Equatable, Sendable {
  let environment: GatewayEnvironment
  let topic: String

  init(environment: GatewayEnvironment, bundleID: String, kind: TokenKind) {
    self.environment = environment
    topic = "\(bundleID)\(kind.pushType.topicSuffix)"
  }

  /// Returns the refusal in `environment`, which is judged first; nil accepts the tokens of both.
  func refusal(topic: ArraySlice<UInt8>?, in environment: GatewayEnvironment?) -> Answer? {
    if let environment, environment != self.environment { return Answer(400, "BadDeviceToken") }
    return topic?.elementsEqual(self.topic.utf8) == true ? nil : Answer(400, "DeviceTokenNotForTopic")
  }
}

/// Each of these has tokens of its own on a device.
enum TokenKind: String, CaseIterable, Sendable {
  case app, voip, complication, fileprovider, location, widgets, controls, pushtotalk

  /// A push type whose topic is that of the kind.
  var pushType: PushType { PushType(rawValue: rawValue) ?? .alert }
}
