import JSON
import Jobs

/// Valid and invalid jobs, as text.
enum Corpus {
  static let token = "abcdef0123456789abcdef"

  static let valid = validNotifications + validActivities
  static let invalid = invalidNotifications + invalidActivities

  private static let validNotifications = [
    #"{"to":{"user":"alice"},"title":"Lunch?","body":"At noon"}"#,
    #" {"to" : {"user":" Alice\n"} , "title":"x"} "#,
    #"{"to":{"user":"Ünï çode"},"title":"é😀\u00e9\ud83d\ude00"}"#,
    #"{"to":{"user":"a","token":"\#(token)"},"body":""}"#,
    #"{"to":{"token":"\#(token)"},"badge":0}"#,
    #"{"to":{"tokens":["\#(token)","\#(token)x"]},"sound":"default"}"#,
    #"{"to":{"app":"com.example.app"},"contentAvailable":true}"#,
    #"{"to":{"user":"a"},"title":"t","badge":3.0,"priority":1e1,"contentAvailable":false,"mutableContent":true}"#,
    #"{"to":{"user":"a"},"title":"t","sound":{"critical":1,"name":"siren","volume":0.5}}"#,
    #"{"to":{"user":"a"},"title":"t","sound":{"name":"siren"}}"#,
    #"{"to":{"user":"a"},"title":"t","interruptionLevel":"time-sensitive","relevanceScore":1}"#,
    #"{"to":{"user":"a"},"title":"t","relevanceScore":75,"pushType":"liveactivity"}"#,
    #"{"to":{"user":"a"},"title":"t","category":"c","threadId":"t","data":{"a":{"aps":[1,2,{}]},"b":null}}"#,
    #"{"to":{"user":"a"},"payload":{"aps":{"alert":"x"}},"id":"a.b_c:d-1","app":"com.example"}"#,
    #"{"to":{"user":"a"},"payload":{},"pushType":"mdm","priority":5}"#,
    #"{"to":{"user":"a"},"pushType":"background","data":{"a":1}}"#,
    #"{"to":{"user":"a"},"pushType":"voip","data":{"a":1},"expiration":0}"#,
    #"{"to":{"user":"a"},"pushType":"widgets"}"#,
    #"{"to":{"user":"a"},"pushType":"controls","data":{"a":1},"priority":5}"#,
    #"{"to":{"token":"\#(token)"},"pushType":"widgets","payload":{"aps":{"content-changed":true}}}"#,
    #"{"to":{"user":"a"},"pushType":"pushtotalk","priority":10}"#,
    #"{"to":{"app":"com.example.app"},"title":"t","pushType":"alert"}"#,
    #"{"to":{"instance":"i"},"class":"attention_ping","preview":"Something to look at"}"#,
    #"{"to":{"instance":"i"},"class":"safety_critical","ttl":60,"collapseId":"c c"}"#,
    #"{"to":{"tokens":["\#(token)","\#(token)"]},"title":"t"}"#,
    #"{"to":{"instance":"i:notifications:1"},"class":"attention_ping"}"#,
    #"{"to":{"instance":"i"},"class":"a_class_of_the_operators_own_2"}"#,
    #"{"to":{"instance":"i"},"class":"attention_ping","pushType":"alert","priority":5}"#,
    #"{"to":{"user":"a"},"title":"t","sendAt":"2026-01-31T09:30:00.250+01:00","dedupe":"d","replyTo":"replies"}"#,
    #"{"to":{"user":"a"},"title":"t","sendAt":"2026-02-28T09:30Z"}"#,
    #"{"to":{"user":"a"},"title":"t","sendAt":1790000000000,"ttl":2419200}"#,
    #"{"to":{"user":"a"},"title":"t","enqueuedAt":1790000000000}"#,
    #"{"to":{"user":"a"},"title":"t","enqueuedAt":0}"#,
    #"{"to":{"user":"a"},"title":"t","enqueuedAt":1790000000}"#,
    #"{"to":{"user":"a"},"title":"t","sendAt":100000000000,"expiration":100000000000}"#,
    #"{"id":null,"to":{"user":"a"},"title":"t","subtitle":null,"sound":null,"badge":null,"payload":null,"data":null}"#,
    #"{"to":{"user":"a"},"title":null,"payload":{"aps":null},"class":null,"liveActivity":null,"pushType":null}"#,
    #"{"to":{"user":"a"},"title":"t","sound":{"critical":null,"name":"n","volume":null},"sendAt":null,"ttl":null}"#,
    #"{"to":{"user":"a"},"title":"t","expiration":5,"ttl":null,"pusher":null,"trace":null,"replyTo":null}"#,
    #"{"to":{"user":"a"},"contentAvailable":true,"interruptionLevel":null,"priority":null,"atMostOnce":null}"#,
    #"{"to":{"user":"a"},"title":"t","atMostOnce":true}"#,
    #"{"to":{"app":"com.example.app"},"title":"t","atMostOnce":false}"#,
    #"{"to":{"user":"a"},"title":"t","trace":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
    #"{"to":{"token":"\#(token)"},"title":"t","pusher":{"environment":"sandbox","setAt":0,"address":"203.0.113.7"}}"#,
    #"{"to":{"token":"\#(token)"},"title":"t","pusher":{"setAt":253402300799999,"address":"2001:db8::/64"}}"#,
  ]

  private static let invalidNotifications: [(job: String, reason: String)] = [
    ("", "not JSON: the text ends at byte 0, inside a value"),
    ("[]", "expected an object, found an array"),
    ("null", "expected an object, found null"), ("nope", "not JSON: unexpected character 'o' at byte 1"),
    (#"{"to":{"user":"a"},"title":"t"}x"#, "not JSON: unexpected character 'x' after the value, at byte 31"),
    (#"{"to":{"user":"a"},"title":"t""#, "not JSON: the text ends at byte 30, inside a value"),
    (#"{"title":"t"}"#, "to: missing; name the addressee"),
    (#"{"to":"alice","title":"t"}"#, "to: expected an object, found a string"),
    (
      #"{"to":{},"title":"t"}"#,
      "to: expected exactly one of user, token, tokens, instance, app, channel, activity (or user with token, activity with user)"
    ),
    (
      #"{"to":{"user":"a","app":"b"},"title":"t"}"#,
      "to: expected exactly one of user, token, tokens, instance, app, channel, activity (or user with token, activity with user)"
    ),
    (#"{"to":{"usr":"a"},"title":"t"}"#, #"unknown field "to.usr"; did you mean "to.user"?"#),
    (#"{"to":{"user":" "},"title":"t"}"#, "to.user: expected a username, not blank, without control characters"),
    (#"{"to":{"user":"a\u0001b"},"title":"t"}"#, "to.user: expected a username, not blank, without control characters"),
    (
      #"{"to":{"token":"short"},"title":"t"}"#,
      "to.token: not a token of APNs: expected 64 to 512 hexadecimal digits, or base64 of at least 32 bytes"
    ),
    (#"{"to":{"tokens":[]},"title":"t"}"#, "to.tokens: empty; name at least one token"),
    (#"{"to":{"tokens":[1]},"title":"t"}"#, "to.tokens: expected a string, found a number"),
    (#"{"to":{"user":"a"},"titel":"t"}"#, #"unknown field "titel"; did you mean "title"?"#),
    (#"{"to":{"user":"a"},"thread-id":"t"}"#, #"unknown field "thread-id"; did you mean "threadId"?"#),
    (#"{"to":{"user":"a"},"undocumented":"t"}"#, #"unknown field "undocumented""#),
    (#"{"to":{"user":"a"},"title":1}"#, "title: expected a string, found a number"),
    (#"{"to":{"user":"a"},"title":"a\u0000b"}"#, "title: must not contain NUL"),
    (#"{"to":{"user":"a"},"title":"a","title":"b"}"#, "title: duplicate key"),
    (#"{"to":{"user":"a"},"title":"a","badge":-1}"#, "badge: expected an integer from 0 to 2147483647"),
    (#"{"to":{"user":"a"},"title":"a","badge":1.5}"#, "badge: expected an integer, found a number"),
    (#"{"to":{"user":"a"},"title":"a","badge":99999999999999999999}"#, "badge: number out of range"),
    (#"{"to":{"user":"a"},"sound":{"critical":1}}"#, "sound: name is missing"),
    (#"{"to":{"user":"a"},"sound":{"name":"n","volume":2}}"#, "sound.volume: expected a number from 0 to 1"),
    (#"{"to":{"user":"a"},"title":"a","relevanceScore":2}"#, "relevanceScore: expected a number from 0 to 1"),
    (#"{"to":{"user":"a"},"title":"a","data":{"aps":{}}}"#, #"data: must not contain the key "aps""#),
    (#"{"to":{"user":"a"},"title":"a","data":{"b":1,"b":2}}"#, #"data: duplicate key "b""#),
    (#"{"to":{"user":"a"},"title":"a","payload":{}}"#, "title: not together with payload"),
    (#"{"to":{"user":"a"},"payload":"{}"}"#, "payload: expected an object, found a string"),
    (#"{"to":{"user":"a"},"title":"a","priority":7}"#, "priority: expected 1, 5 or 10"),
    (
      #"{"to":{"user":"a"},"title":"a","priority":10,"pushType":"background"}"#,
      "priority: must be 5 when pushType is background"
    ),
    (#"{"to":{"user":"a"},"pushType":"pushtotalk","priority":5}"#, "priority: must be 10 when pushType is pushtotalk"),
    (
      #"{"to":{"app":"com.example.app"},"pushType":"voip"}"#,
      "pushType: voip has no audience; to.app takes alert or background, name a user or tokens for others"
    ),
    (
      #"{"to":{"app":"com.example.app"},"pushType":"liveactivity","payload":{}}"#,
      "pushType: liveactivity has no audience; to.app takes alert or background, name a user or tokens for others"
    ),
    (
      #"{"to":{"user":"a"},"pushType":"widgets","body":"b"}"#,
      "body: not with pushType widgets, which takes data or payload only"
    ),
    (
      #"{"to":{"user":"a"},"pushType":"controls","contentAvailable":false}"#,
      "contentAvailable: not with pushType controls, which takes data or payload only"
    ),
    (#"{"to":{"user":"a"},"title":"a","ttl":1,"expiration":2}"#, "ttl: not together with expiration; give one of them"),
    (#"{"to":{"user":"a"},"class":"attention_ping"}"#, "class: only for a job to an instance"),
    (
      #"{"to":{"instance":"a:notifications"},"class":"attention_ping"}"#,
      "to.instance: must not end in :notifications"
    ),
    (#"{"to":{"instance":"a"},"class":"Ping"}"#, "class: expected 1 to 64 lower-case letters, digits or _"),
    (#"{"to":{"instance":"a"},"class":""}"#, "class: expected 1 to 64 lower-case letters, digits or _"),
    (#"{"to":{"instance":"a"},"class":"attention_ping","title":"t"}"#, "title: not together with class"),
    (
      #"{"to":{"instance":"a"},"class":"attention_ping","pushType":"background"}"#,
      "pushType: a class is always an alert"
    ),
    (
      #"{"to":{"instance":"a"},"title":"t"}"#,
      "class: missing; a job to an instance names a class of a delivery policy"
    ),
    (
      #"{"to":{"instance":"a"},"payload":{"aps":{"alert":"x"}}}"#,
      "class: missing; a job to an instance names a class of a delivery policy"
    ),
    (
      #"{"to":{"instance":"i"},"class":"c","preview":"two\nlines"}"#,
      "preview: expected one line without control characters"
    ),
    (
      #"{"to":{"instance":"i"},"class":"c","preview":"line\n"}"#,
      "preview: expected one line without control characters"
    ),
    (
      #"{"to":{"instance":"i"},"class":"c","preview":"a\u2028b"}"#,
      "preview: expected one line without control characters"
    ),
    (
      #"{"to":{"instance":"i"},"class":"c","preview":" \u200b\u3164"}"#,
      "preview: expected at least one visible character"
    ),
    (
      #"{"to":{"instance":"i"},"class":"c","preview":"\udb40\udc41"}"#,
      "preview: expected at least one visible character"
    ),
    (#"{"to":{"instance":"a"},"preview":"p","title":"t"}"#, "preview: only together with class"),
    (
      #"{"to":{"user":"a"}}"#,
      "nothing to send: give title, subtitle, body, badge, sound, contentAvailable: true, payload or class"
    ),
    (
      #"{"to":{"user":"a"},"title":"t","sendAt":"2026-01-31T09:30:00"}"#,
      "sendAt: expected a time with a zone, as in 2026-01-31T09:30:00Z, or unix milliseconds"
    ),
    (
      #"{"to":{"user":"a"},"title":"t","replyTo":"push:token:x"}"#,
      "replyTo: keys that begin with push:token: are Martlet's own; name another list"
    ),
    (
      #"{"to":{"user":"a"},"title":null}"#,
      "nothing to send: give title, subtitle, body, badge, sound, contentAvailable: true, payload or class"
    ),
    (#"{"to":null,"title":"t"}"#, "to: missing; name the addressee"),
    (#"{"to":{"user":"a","token":null},"title":"t"}"#, "to.token: expected a string, found null"),
    (#"{"to":{"user":"a"},"title":null,"title":"t"}"#, "title: duplicate key"),
    (
      #"{"to":{"user":"a"},"title":"t","sendAt":1795900000}"#,
      "sendAt: looks like unix seconds; give unix milliseconds, 1795900000000"
    ),
    (
      #"{"to":{"user":"a"},"title":"t","expiration":1795900000000}"#,
      "expiration: looks like unix milliseconds; give unix seconds, 1795900000"
    ),
    (#"{"to":{"user":"a"},"alert":"t"}"#, #"unknown field "alert"; use title and body"#),
    (#"{"to":{"user":"a"},"message":"t"}"#, #"unknown field "message"; use body"#),
    (#"{"to":{"user":"a"},"text":"t"}"#, #"unknown field "text"; use body"#),
    (
      #"{"to":{"user":"a"},"notification":{"title":"t"}}"#,
      #"unknown field "notification"; use title and body, beside to"#
    ),
    (#"{"registration_ids":["a"],"title":"t"}"#, #"unknown field "registration_ids"; use to.tokens"#),
    (#"{"user":"a","title":"t"}"#, #"unknown field "user"; use to.user"#),
    (#"{"token":"a","title":"t"}"#, #"unknown field "token"; use to.token"#),
    (#"{"to":{"user":"a"},"title":"t","pusher":{"setAt":0,"address":"a"}}"#, "pusher: only together with to.token"),
    (#"{"to":{"token":"\#(token)"},"title":"t","pusher":{"setAt":0}}"#, "pusher: setAt and address are needed"),
    (
      #"{"to":{"token":"\#(token)"},"title":"t","pusher":{"setAt":0,"address":"a","environment":"moon"}}"#,
      "pusher.environment: expected one of production, sandbox"
    ),
    (#"{"to":{"token":"\#(token)"},"title":"t","pusher":{"since":0}}"#, #"unknown field "pusher.since""#),
    (#"{"to":{"user":"a"},"title":"t","trace":1}"#, "trace: expected a string, found a number"),
    (
      #"{"to":{"user":"a"},"title":"t","trace":"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"}"#,
      "trace: expected \(TraceParent.expected)"
    ),
    (
      #"{"to":{"user":"a"},"title":"t","trace":"00-00000000000000000000000000000000-00f067aa0ba902b7-01"}"#,
      "trace: expected \(TraceParent.expected)"
    ),
    (
      #"{"to":{"user":"a"},"title":"t","trace":"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#,
      "trace: expected \(TraceParent.expected)"
    ),
    (#"{"to":{"user":"a"},"title":"t","enqueuedAt":"now"}"#, "enqueuedAt: expected a number, found a string"),
    (#"{"to":{"user":"a"},"title":"t","enqueuedAt":1.5}"#, "enqueuedAt: expected an integer, found a number"),
    (
      #"{"to":{"user":"a"},"title":"t","enqueuedAt":-1}"#,
      "enqueuedAt: expected an integer from 0 to 253402300799999"
    ),
    (
      #"{"to":{"user":"a"},"title":"t","enqueuedAt":253402300800000}"#,
      "enqueuedAt: expected an integer from 0 to 253402300799999"
    ),
    (#"{"to":{"user":"a"},"title":"t","atMostOnce":1}"#, "atMostOnce: expected true or false, found a number"),
    (
      #"{"to":{"user":"a"},"title":"t","replyTo":"push:events"}"#,
      "replyTo: keys that begin with push:events are Martlet's own; name another list"
    ),
    (
      #"{"to":{"user":"a"},"title":"t","replyTo":"push:topic:news:tokens:1"}"#,
      "replyTo: keys that begin with push:topic: are Martlet's own; name another list"
    ),
    (
      #"{"to":{"user":"a"},"title":"t","replyTo":"push:badge:alice"}"#,
      "replyTo: keys that begin with push:badge: are Martlet's own; name another list"
    ),
    (#"{"to":{"user":"a"},"title":"t","dedupe":""}"#, "dedupe: expected 1 to 256 characters"),
    (
      #"{"to":{"user":"a"},"title":"t","collapseId":" c"}"#,
      "collapseId: must not contain control characters, nor begin or end with a space"
    ),
  ]
}
