public import RepriseCore
public import RepriseReminders

/// Something that a person wants to keep up: a few questions, and when to be asked them.
public struct Goal: Hashable, Sendable, Codable, Identifiable {
    /// Its identity, as routes know it.
    public var id: String
    /// For people.
    public var title: String
    /// Whether it is in use.
    public var state: Entity.State
    /// Whose it is; nil: there is only one person.
    public var owner: String?
    /// What is asked.
    public var questions: [Question]
    /// When it is asked.
    public var reminders: [Reminder]

    /// Describes a goal.
    public init(
        id: String, title: String, state: Entity.State = .active, owner: String? = nil,
        questions: [Question] = [], reminders: [Reminder] = []
    ) {
        self.id = id
        self.title = title
        self.state = state
        self.owner = owner
        self.questions = questions
        self.reminders = reminders
    }

    /// The goal as routes know it.
    var entity: Entity {
        Entity(
            id: id, title: title, state: state, owner: owner,
            parts: questions.map { .init(id: $0.id, title: $0.title) })
    }
}

/// One question of a goal.
public struct Question: Hashable, Sendable, Codable, Identifiable {
    /// What an answer to it can be.
    public enum Kind: Hashable, Sendable, Codable {
        /// A number.
        case number
        /// `yes` or `no`.
        case yesNo
        /// One of these.
        case choice([String])
        /// A whole number from the first to the second.
        case scale(Int, Int)
        /// Anything that is not empty.
        case text
    }

    /// Its identity within the goal.
    public var id: String
    /// What is asked.
    public var title: String
    /// What an answer can be.
    public var kind: Kind

    /// Describes a question.
    public init(id: String, title: String, kind: Kind) {
        self.id = id
        self.title = title
        self.kind = kind
    }

    /// Whether this can be an answer.
    public func takes(_ answer: String) -> Bool {
        switch kind {
        case .number: Double(answer)?.isFinite ?? false
        case .yesNo: answer == "yes" || answer == "no"
        case .choice(let choices): choices.contains(answer)
        case .scale(let least, let most): Int(answer).map { least <= $0 && $0 <= most } ?? false
        case .text: !answer.isEmpty
        }
    }
}

/// What a person has answered.
public struct Answer: Hashable, Sendable {
    /// Of which goal.
    public var goal: String
    /// To which question of it.
    public var question: String
    /// What.
    public var text: String
    /// When it was stored.
    public var at: WallTime
}
