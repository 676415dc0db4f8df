import EventLoop
import Telemetry

/// A server of a cluster, with the commands that wait for its first connection.
@EventLoop
final class ClusterServer {
  /// Commands wait this long for a server that the cluster has just named.
  private static let patience = Duration.seconds(2)

  let address: ClusterTopology.Server
  let connection: RedisConnection
  private var waiting: [@EventLoop () -> Void] = []
  private var timer: LoopTimer?

  init(_ address: ClusterTopology.Server, connection: RedisConnection) {
    self.address = address
    self.connection = connection
    timer = .after(ClusterServer.patience) { [weak self] in self?.hasOpened() }
  }

  /// Calls `body` now, or when the first connection is ready; after ``patience`` in any case.
  func whenOpen(_ body: @escaping @EventLoop () -> Void) {
    if timer == nil || connection.isReady { body() } else { waiting.append(body) }
  }

  func hasOpened() {
    timer = nil
    let bodies = waiting
    waiting = []
    for body in bodies { body() }
  }

  /// Calls `body` when everything that was sent before has been answered, or has failed.
  func whenDrained(_ body: @escaping @EventLoop () -> Void) {
    connection.send(RedisCommand("PING")) { _ in body() }
  }

  /// Closes the connection when everything that was sent has been answered.
  func retire() {
    whenDrained { [self] in
      connection.close()
      hasOpened()
    }
  }
}
