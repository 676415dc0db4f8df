import EventLoop
import Operations
import Queue
import QueueSupport

extension QueueServer {
  var browser: QueueBrowser { QueueBrowser(queue: keys.queue, connection: connection) }
  var letters: DeadLetters { DeadLetters(queue: keys.queue, connection: connection) }
}
