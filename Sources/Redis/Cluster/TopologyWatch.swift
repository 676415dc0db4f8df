import EventLoop
import Telemetry

/// Asks a cluster for its topology whenever it may have changed, at growing intervals while it stays incomplete.
@EventLoop
final class TopologyWatch {
  private enum State {
    case idle
    case asking
    case pausing(LoopTimer)
    case stopped
  }

  private static let backoff = Backoff(base: .milliseconds(250), cap: .seconds(2))

  var onTopology: (@EventLoop (ClusterTopology) -> Void)?
  /// Why the last question had no answer.
  private(set) var failure: String?
  private var reasons = ToldReasons()

  private let endpoint: RedisEndpoint
  private let seeds: [ClusterTopology.Server]
  private let log: Log
  private let connector = Connector()
  private var state = State.idle
  private var isWanted = false
  /// Questions in a row, each because of the answer to the one before.
  private var attempts = 0
  private var known: [ClusterTopology.Server] = []
  private var uncovered: [ClosedRange<Int>] = []

  init(_ endpoint: RedisEndpoint, log: Log) {
    self.endpoint = endpoint
    self.log = log
    if case .cluster(let servers, _) = endpoint.address { seeds = servers } else { seeds = [] }
  }

  /// Asks now, or as soon as the pause is over. `known` are servers that are likely to answer.
  func refresh(known: [ClusterTopology.Server]) {
    self.known = known
    switch state {
    case .idle: ask()
    case .asking, .pausing: isWanted = true
    case .stopped: break
    }
  }

  func stop() { state = .stopped }

  private func ask() {
    state = .asking
    isWanted = false
    attempts += 1
    let candidates = known + seeds.filter { !known.contains($0) }
    connector.discover(endpoint, asking: candidates) { [weak self] result in self?.take(result) }
  }

  private func take(_ result: Result<ClusterTopology, RedisError>) {
    guard case .asking = state else { return }
    state = .pausing(
      .after(TopologyWatch.backoff.delay(attempt: attempts, random: .random(in: 0.5...1))) { [weak self] in
        guard let self, case .pausing = state else { return }
        state = .idle
        if isWanted { ask() } else { attempts = 0 }
      })
    switch result {
    case .success(let topology):
      if failure != nil { log.info("the cluster answers again", ["cluster": .init(endpoint.summary)]) }
      failure = nil
      reasons = ToldReasons()
      logUncovered(topology.uncovered)
      onTopology?(topology)
    case .failure(let error):
      if reasons.tells("\(error)", at: Clock.monotonicNanoseconds) {
        // Operator: See `reason`. Start the servers, or correct `REDIS_URL`. `the cluster answers again` ends it.
        log.warn(
          "the cluster is not reachable; trying again until it is",
          ["cluster": .init(endpoint.summary), "reason": .init("\(error)")])
      }
      failure = "\(error)"
      isWanted = true
    }
  }

  /// Logs once that slots have no server, and once that they have one again.
  private func logUncovered(_ ranges: [ClosedRange<Int>]) {
    guard ranges != uncovered else { return }
    uncovered = ranges
    guard !ranges.isEmpty else { return log.info("every slot of the cluster has a server again") }
    let list = ranges.prefix(8).map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
    // Operator: Follow `fix`. `every slot of the cluster has a server again` ends it.
    log.error(
      "slots of the cluster have no server: their keys cannot be reached",
      ["slots": .init(list), "fix": "redis-cli --cluster check, then --cluster fix"])
  }
}
