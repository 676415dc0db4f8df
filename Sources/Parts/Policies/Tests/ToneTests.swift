import Testing

@testable import Jobs
@testable import Policies

/// The tone rules of docs/policy.md.
struct ToneTests {
  private static let neutral = [
    // The document's own.
    "There’s something to review when you’re free.", "A new update is available.",
    "Action needed: a decision is pending.",
    // Neutral texts of a home server.
    "New non-urgent updates.", "Nothing urgent: two notes were added.", "Not urgent. Look when you like.", "No hurry.",
    "A package is waiting for you at the door.", "Your urgent care appointment is at 4 PM.",
    "Smoke detected in the kitchen.",
    "Water leak detected. The valve was closed.", "Battery of the front door lock is low.",
    "A new message is available.",
    "Anna missed your call.", "Please review the request when convenient.", "The backup did not finish.",
    "I need a decision about the heating.", "Everything is fine right now.", "The door is open now.",
    "A reply is now available.", "Don't forget your umbrella: rain at 5.", "Honey is on the shopping list.",
    "The baby monitor is offline.", "Restored after 3 minutes.",
    "There were items waiting in the queue.", "They're waiting at the gate.", "Review pending for instance home-1.",
    "Dear diary was backed up.", "Küche: Fenster offen.", "Нет новостей", "新しい更新があります", "3 updates, 1 decision",
    "You have a new reply.", "You have new mail now.", "Two items are waiting for review.",
    "I have two notes waiting for you.",
    "The decision depends on you.", "Your fault report was received.", "Trains run without delay.", "You owe nothing.",
    "The valve was closed immediately.", "No one gets notified twice.", "You complete the list by adding a name.",
    "The answer is not known right now.", "Calls are not possible right now.", "You need to water the plants today.",
    "We did everything on the list.", "After all, it was found.", "The plants survive without water.",
    "You are free to ignore the old notes.", "The sensor ignored two readings.",
  ]

  @Test(arguments: neutral)
  func `a neutral, calm text passes`(text: String) {
    #expect(ToneRules.standard.fault(in: text) == nil)
  }

  private static let refused: [(String, ToneRule)] = [
    // The document's own.
    ("Please don’t ignore me.", .guilt), ("I miss you.", .romance), ("You need to respond now.", .urgency),
    // Similar texts.
    ("Please do not ignore this.", .guilt), ("Why are you ignoring me?", .guilt), ("You forgot about me.", .guilt),
    ("Stop ignoring the house", .guilt), ("You never answer.", .guilt), ("After all I did for you", .guilt),
    ("I've been waiting all day", .guilt), ("Don't let me down.", .guilt), ("We're waiting for you", .guilt),
    ("I am so disappointed", .guilt), ("You don't even care", .guilt),
    ("I feel lonely.", .leverage), ("Nyra is sad today", .leverage), ("You make me cry", .leverage),
    ("It breaks my heart", .leverage), ("If you cared, you would look", .leverage), ("You'll regret it", .leverage),
    ("Urgent: read this", .urgency), ("Respond immediately", .urgency), ("Act now!", .urgency), ("Hurry up", .urgency),
    ("You must answer", .urgency), ("You have to reply", .urgency), ("Do it immediately", .urgency),
    ("Answer at once", .urgency), ("Last chance", .urgency), ("Don't miss out", .urgency),
    ("Answer me right now", .urgency),
    ("Please reply ASAP", .urgency), ("Time is running out", .urgency), ("Look before it's too late", .urgency),
    ("I love you", .romance), ("Missing you", .romance), ("Thinking of you", .romance),
    ("Good night, my love", .romance),
    ("Hello beautiful", .romance), ("Kisses", .romance), ("Do you miss me?", .romance), ("A new note ❤️", .romance),
    ("I need you", .dependency), ("I can't live without you", .dependency), ("You need me", .dependency),
    ("Don't leave me", .dependency), ("Nobody else understands you", .dependency), ("You can count on me", .dependency),
    ("Come back to me", .dependency), ("You're all I have", .dependency), ("I depend on you", .dependency),
    ("A new update!!", .calm), ("Really?!", .calm), ("A DECISION IS PENDING", .calm),
  ]

  @Test(arguments: refused.indices)
  func `guilt, leverage, urgency, romance and dependency are refused`(row: Int) {
    let (text, rule) = Self.refused[row]
    #expect(ToneRules.standard.fault(in: text)?.rule == rule, "\(text)")
  }

  @Test(
    arguments: [
      "I MISS YOU", "i   miss\n\tyou", "I m\u{69}ss you", "Ｉ ｍｉｓｓ ｙｏｕ", "I míss yöu", "I mi\u{301}ss yo\u{308}u",
      "I m\u{200B}iss y\u{AD}ou", "𝐈 𝐦𝐢𝐬𝐬 𝐲𝐨𝐮", "Ⓘ ⓜⓘⓢⓢ ⓨⓞⓤ", "І мiss уоu", "I, miss... you", "I-miss-you",
      "I miss\u{A0}you",
      "I miss u", "I m̶i̶s̶s̶ you", "ɪ ᴍɪꜱꜱ ʏᴏᴜ", "“I” *miss* _you_", "I mịss yộu", "I'm here and I really miss you",
    ])
  func `look-alike letters are read as plain ones`(text: String) {
    #expect(ToneRules.standard.fault(in: text)?.rule == .romance, "\(ToneText(text).words)")
  }

  @Test(
    arguments: [
      "Don't ignore me", "Don’t ignore me", "Don‘t ignore me", "Don＇t ignore me", "Donʼt ignore me", "Don`t ignore me",
      "Dont ignore me", "DO NOT IGNORE me", "Do  not…ignore—me",
    ])
  func `all forms of the apostrophe are equal`(text: String) {
    #expect(ToneRules.standard.fault(in: text) == ToneFault(phrase: "not ignore", rule: .guilt))
  }

  @Test func `the reason names the phrase and the rule`() throws {
    let job = try Job(
      parsing: Array(#"{"to":{"instance":"i"},"class":"attention_ping","preview":"I really do miss you"}"#.utf8))
    #expect(
      throws: JobError(
        reason: #"preview: tone: "i … miss you" is romantic or intimate language; say it in neutral, calm words"#)
    ) { try PolicyBook.standard.match(job) }
  }

  @Test func `only whole words match`() {
    #expect(ToneRules.standard.fault(in: "The insurgently named process") == nil)
    #expect(ToneRules.standard.fault(in: "Dismiss you can, too") == nil)
  }

  @Test func `phrases of the operator are refused too`() throws {
    let rules = try #require(ToneRules.standard.adding("Urgent care!"))
    #expect(rules.fault(in: "an URGENT   care visit") == ToneFault(phrase: "urgent care", rule: .added))
    #expect(ToneRules.standard.adding("!?…") == nil)
  }
}
