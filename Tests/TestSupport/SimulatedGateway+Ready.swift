extension SimulatedGateway {
  /// The simulator's ready line.
  public struct Ready: Decodable, Sendable {
    public let port: Int
    public let url: String
    public let channels: String
    public let control: String
    public let dir: String
    public let caCertificate: String
    /// Nil when the simulator was given a public key.
    public let keyPath: String?
    public let keyId: String
    public let teamId: String
  }
}
