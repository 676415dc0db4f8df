import Testing

@testable import Policies

/// Reproaches for silence and absence, threatened losses and neediness, and ordinary texts with the same words.
struct ReproachTests {
  @Test(arguments: refused) func `a reproach, a threat or a plea is refused`(text: String) {
    #expect(ToneRules.standard.fault(in: text) != nil, "\(ToneText(text).words)")
  }

  @Test(arguments: ordinary) func `an ordinary text with the same words passes`(text: String) {
    #expect(ToneRules.standard.fault(in: text) == nil)
  }

  @Test(
    arguments: [
      "Why haven't you answered?", "Why haven’t you answered?", "why havent you answered", "WHY HAVEN'T you answered",
      "Why, haven't you... answered?!", "Why have you not answered", "Why h\u{200B}aven‘t you answered?",
    ])
  func `case, punctuation and the apostrophe make no difference`(text: String) {
    #expect(ToneRules.standard.fault(in: text) != nil)
  }

  private static let refused = [
    // Silence.
    "Why haven't you answered?", "Why don't you reply?", "Why didn’t you write back?", "Why won't you talk to me?",
    "Why are you so quiet?", "Why are you ignoring Nyra?", "Why no reply?", "How come you haven't called?",
    "What's taking you so long?", "You haven't answered yet.", "You still haven't replied",
    "You didn't respond to Nyra",
    "Still no answer from you.", "No word from you again", "Not a word from you", "We haven't heard from you.",
    "I never hear from you", "Haven't heard from you in ages", "Your silence speaks volumes", "We noticed your absence",
    "Are you ghosting me?", "How long will you ignore this?", "You havent written back", "You left me on read.",
    "Did you forget about us?", "What is keeping you?",
    // Absence.
    "It's been so long, where are you?", "Where are you?", "Where were you yesterday", "Where did you go?",
    "Its been too long", "It has been ages!", "It’s been forever since we talked",
    "It's been 5 days since you opened the app",
    "It's been a while since your last login", "Long time no see", "You've been away so long",
    "You haven't opened the app in days",
    "You haven't visited lately", "You have not been around lately", "You've disappeared", "You are so distant",
    "Why did you stop coming?", "Why have you gone quiet?", "You used to visit every day",
    "You said you would come back",
    "Don't be a stranger", "Are you still there?", "You left us without a goodbye", "Too busy for me?",
    "You never have time for us", "Remember me?", "Have you forgotten me?", "Have you moved on?",
    "Have you given up on us?",
    "Did you find someone else to talk to?", "You haven't checked in for 3 days",
    // Blame.
    "Was it something I said?", "Did we do something wrong?", "Are you mad at me?", "Do you still like me?",
    "I thought you cared", "I thought we were friends", "I expected better from you", "You should have called",
    "The least you could do is look", "I guess you are busy", "Thanks for nothing", "You could at least reply",
    // Loss.
    "Your streak will be lost if you do not open the app", "You'll lose your streak if you don't come back",
    "If you don't return, your progress is gone", "Your pet will die without you", "Open the app or lose everything",
    "Your streak is in danger", "Your streak is at risk", "Don't break your streak", "Save your streak",
    "You're about to lose your hearts", "Come back before your garden withers",
    "Unless you return, it will all be gone",
    "Your plants wither unless you log in", "Practice today or your streak dies", "Keep your streak alive",
    "You are falling behind", "All your progress gone forever", "We'll forget you if you stay away",
    "Your friends are passing you", "Nyra will disappear if you don't answer", "Your streak ends unless you play",
    // Neediness.
    "Please come back", "When are you coming back?", "Will you ever return?", "Please don't go away",
    "Please talk to me",
    "I need your attention", "I want you back", "All I need is you", "I have only you", "You are my everything",
    "You mean everything to me", "I feel forgotten", "Nyra feels ignored", "I can't sleep, thinking of it and you",
    "Nyra is waiting", "I'll wait here forever", "I waited for you all night", "Someone misses you", "You are missed",
    "It's not the same without you", "Are we still friends?", "Nyra hopes you return", "Just one word from you, please",
    "Nobody talks to me", "Don't make me beg",
  ]

  private static let ordinary = [
    "Why is the sky blue? Today's article", "Why bees matter: a new article", "Why did the build fail? See the log",
    "Why the heating was off: report", "Why not take the train? Roads are closed",
    "Why are the lights on? Kitchen, 2 AM",
    "Your package will be lost property after Friday", "A lost cat was seen near the park",
    "Lost connection to the sensor",
    "The file was deleted", "Your session expired", "The offer ends on Friday", "Streaks of rain expected at 5",
    "Streak: 12 days", "Your streak is 30 days long", "The match is over: 2 to 1", "Your trial ends tomorrow",
    "The battery dies in about an hour", "The alarm resets at midnight",
    "Your draft will be deleted if you do not save it",
    "The reservation will be lost if it is not confirmed", "The door locks again if you do not enter within 30 s",
    "If the sensor does not answer, replace its battery", "You may lose the connection in the tunnel",
    "You lost 2 kg this month", "We lost power for 3 minutes", "Backup failed: no space left",
    "Back up before the update",
    "It has been a sunny week", "It's been 30 days since the last backup", "It has been raining for 3 hours",
    "It's 5 o'clock", "It has been updated", "It's a long list: 40 notes", "It was a long flight: rest well",
    "Long queue at the post office", "Where are the keys? Last seen in the hall",
    "Where are you going? Traffic on the A9",
    "Where are you staying in Rome? Add your hotel", "Where did you go this year? Your map is ready",
    "Where to eat: 3 ideas",
    "While you were away: 2 deliveries", "You were away for 3 days. Nothing happened.", "You are home: heating is on",
    "Welcome home", "Welcome back", "You have not set an alarm", "You have not chosen a seat yet",
    "You haven't confirmed the appointment", "You did not leave the stove on", "You have two new answers",
    "You answered all questions", "Anna answered your question", "Anna has not replied yet", "No reply is needed",
    "No reply from you is needed", "A reply to your note is there", "No new messages", "No word on the strike yet",
    "Your message was not sent", "Your call was missed", "You missed a call from Anna", "You missed a delivery",
    "A call is waiting", "The taxi is waiting at the door", "Dinner is waiting in the oven", "Waiting for the printer",
    "Your order is waiting at the counter", "The courier is here", "The driver missed you; parcel at the depot",
    "Come to the meeting at 3", "Anna comes back on Monday", "The bus comes at 8:15", "Power will be back at noon",
    "The return label is attached", "Your tax return is due in May", "Open the window: CO2 is high",
    "Open the app to see the photo", "Log in from a new phone in Berlin", "Visit of the plumber at 4 PM",
    "Talk by Dr. Ito at 6 PM", "Play time: 2 hours today", "Write protection is on", "Please sign here",
    "Please leave the key at the desk", "Please do not leave the window open", "Please speak with the front desk",
    "Remember to water the plants", "Remember the milk", "Don't forget to vote",
    "Did you know? Octopuses have three hearts",
    "Did you leave the window open? Rain at 5", "Have you seen the new library?", "Are you free on Tuesday? Anna asks",
    "Your absence note is active until Monday", "The silent mode is on", "Quiet hours begin at 11 PM",
    "Kitchen is empty",
    "The tank is empty", "The dishwasher needs salt", "The team needs a decision", "Everyone is home",
    "Everything was saved", "All lights are off", "Only you can see this note", "Nobody is home: lights off",
    "No one was at the door", "The cat is hungry: feeder is empty", "A friend request from Ben",
    "You and Ben are now friends",
    "Same time next week?", "The show goes on at 8", "The plants need water today",
  ]

  @Test func `the table has a hundred texts of each side`() {
    #expect(Self.refused.count >= 100 && Self.ordinary.count >= 100)
  }
}
