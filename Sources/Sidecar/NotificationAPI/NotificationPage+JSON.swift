import Queue
import JSON
import Jobs

extension NotificationPage {
  /// `{"<list>":[…records, each with its cursor…],"cursor","hasMore"}`. With nothing new the cursor stays the same.
  func json(_ list: String, since: NotificationCursor) -> JSONValue {
    let records = entries.map { entry in
      let members = (entry.record.members ?? []).filter { $0.key != "cursor" }
      return JSONValue.object(members + [NotificationPage.cursor(NotificationCursor(id: entry.id))])
    }
    return .object([
      JSONMember(key: list, value: .array(records)),
      NotificationPage.cursor(last.map(NotificationCursor.init(id:)) ?? since),
      JSONMember(key: "hasMore", value: .bool(hasMore)),
    ])
  }

  private static func cursor(_ cursor: NotificationCursor) -> JSONMember {
    JSONMember(key: "cursor", value: .string(cursor.text))
  }
}
