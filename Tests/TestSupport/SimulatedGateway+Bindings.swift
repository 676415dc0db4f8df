extension SimulatedGateway {
  /// A device token and what it was made for.
  public struct Token: Sendable {
    public let text: String
    /// `production` or `sandbox`.
    public let environment: String
    public let bundleID: String
    public let kind: String

    public init(_ text: String, environment: String, bundleID: String, kind: String = "app") {
      self.text = text
      self.environment = environment
      self.bundleID = bundleID
      self.kind = kind
    }
  }

  /// The arguments of a simulator that accepts the provider key of this one.
  public var keyArguments: [String] {
    ["--key-id", ready.keyId, "--team-id", ready.teamId, "--public-key", ready.keyPath ?? ""]
  }

  /// Accepts the tokens only for what they were made for.
  public func bind(_ tokens: [Token]) async throws {
    let commands = tokens.map {
      #"{"token":"\#($0.text)","rule":"bound","environment":"\#($0.environment)","#
        + #""bundleId":"\#($0.bundleID)","kind":"\#($0.kind)"}"#
    }
    try await setDevices(commands)
  }

  /// Gives all of the tokens one rule, its fields beside `token` as JSON members.
  public func devices(_ tokens: [String], _ rule: String) async throws {
    try await setDevices(tokens.map { #"{"token":"\#($0)",\#(rule)}"# })
  }

  /// Beyond the limit of an argument.
  private func setDevices(_ commands: [String]) async throws {
    try await ChildProcess.run(
      "curl", ["-sS", "--fail-with-body", "--data-binary", "@-", ready.control + "/devices"],
      input: "[\(commands.joined(separator: ","))]")
  }
}
