extension APNsConfiguration {
  /// Times and sizes; the defaults suit Apple's gateways.
  public struct Limits: Sendable {
    /// From `send` to the outcome, queueing included.
    public var requestTimeout: Duration = .seconds(20)
    /// DNS, TCP and TLS together.
    public var connectTimeout: Duration = .seconds(10)
    /// A gateway out of reach for longer fails its pushes at once, as not processed.
    public var outagePatience: Duration = .seconds(3)
    public var minimumConnectBackoff: Duration = .seconds(1)
    public var maximumConnectBackoff: Duration = .seconds(60)
    /// Something was written and nothing came back for this long: ask with a PING.
    public var quietBeforePing: Duration = .seconds(5)
    /// Nothing in flight for this long: a PING keeps the way through the network open.
    public var idleBeforePing: Duration = .seconds(60)
    public var pongTimeout: Duration = .seconds(5)
    /// A paused route is tried with one push in this time.
    public var probeInterval: Duration = .seconds(60)
    /// A connection is left because an answer asks for another one at most this often: it may be one device or topic that
    /// is answered so every time.
    public var minimumDrainInterval: Duration = .seconds(5)
    /// Streams of a connection, should the server allow more.
    public var maximumStreams = 1000
    /// Transparent resends of a push that was certainly not processed.
    public var maximumResends = 3
    /// How often deadlines and silent connections are looked for.
    public var tick: Duration = .seconds(1)

    public init() {}
  }
}
