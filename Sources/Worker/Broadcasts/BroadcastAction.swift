import Jobs
import PushModel
import Registry

/// The places and actions of a broadcast.
extension BroadcastProgress {
  /// A place in the audience.
  enum Position: Equatable {
    case cursor(AudienceCursor)
    /// Behind the last page.
    case end

    /// Orders behind every cursor's text.
    private static let endText = "~"

    /// The start if `text` is nil or malformed.
    init(text: String?) {
      self = text == Position.endText ? .end : .cursor(text.flatMap(AudienceCursor.init) ?? .start)
    }

    init(_ next: AudienceCursor?) {
      self = next.map(Position.cursor) ?? .end
    }

    var text: String {
      switch self {
      case .cursor(let cursor): cursor.description
      case .end: Position.endText
      }
    }
  }

  enum Action: Equatable {
    /// Read from Redis how far an earlier attempt came.
    case loadProgress
    /// Look up the devices that an earlier attempt left open.
    case resolve(tokens: [DeviceToken], page: Int)
    case fetch(from: AudienceCursor, page: Int)
    case submit(ArraySlice<Device>, page: Int)
    /// Add the tally to the attempt's, and write that everything before `next` was tried.
    case commit(Tally, next: Position)
    /// The last action, unless the job was fenced.
    case end(AttemptEnd)
  }
}
