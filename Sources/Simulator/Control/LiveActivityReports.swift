import JSON

// The bodies of `GET /live-activities` and `GET /channels`. Timestamps are unix seconds, as in pushes.

extension LiveDevices {
  var report: [JSONObject] {
    devices.values.sorted { $0.owner.deviceID < $1.owner.deviceID }.map(\.report)
  }
}

extension LiveDevice {
  var report: JSONObject {
    [
      "deviceId": owner.deviceID, "username": owner.username, "bundleId": owner.bundleID, "online": isOnline,
      "ignored": ignored,
      "activities": activities.sorted { $0.key < $1.key }.map { id, activity in
        ["activityId": id] + activity.report
      },
    ]
  }
}

extension LiveActivity {
  /// `cards`: how many were ever shown. `shown`: all of them, the oldest first.
  fileprivate var report: JSONObject {
    [
      "cards": cards.count, "starts": starts, "applied": applied, "older": older, "afterEnd": afterEnd, "lost": lost,
      "newestLost": newestLost, "shown": cards.map(\.report),
    ]
  }
}

extension LiveCard {
  fileprivate var report: JSONObject {
    [
      "contentState": contentState, "timestamp": timestamp, "ended": isEnded, "channel": channel, "token": token,
      "reported": registration == .done,
    ]
  }
}

extension Channels {
  var report: [JSONObject] {
    apps.sorted { $0.key < $1.key }.flatMap { bundleID, channels in
      channels.sorted { $0.key < $1.key }.map { id, channel in
        [
          "bundleId": bundleID, "channelId": id, "storagePolicy": channel.keepsNewest ? 1 : 0,
          "broadcasts": channel.broadcasts,
        ]
      }
    }
  }
}
