public import Reprise

/// A parcel for a customer, as the office announces it in the channel `orders`.
public struct Order: Codable, Hashable, Identifiable, Sendable {
    /// The office's number of it.
    public var id: String
    /// The customer's name.
    public var customer: String
    /// Where it goes.
    public var street: String
    /// When the courier is reminded of it; nil: not at all.
    public var due: Schedule?

    /// Describes an order.
    public init(id: String, customer: String, street: String, due: Schedule? = nil) {
        self.id = id
        self.customer = customer
        self.street = street
        self.due = due
    }

    /// The channel in which courier and customer talk about it.
    var chat: String { "order-\(id)" }
}

/// An order, and how far the courier is with it.
public struct Delivery: Codable, Hashable, Identifiable, Sendable {
    /// The order.
    public var order: Order
    /// Active until it is delivered; paused: nothing rings.
    public var state = Entity.State.active
    /// What the courier answered to its reminders.
    public var answers: [String] = []

    /// The order's.
    public var id: String { order.id }

    var entity: Entity { Entity(id: id, title: "Order \(id), \(order.customer)", state: state) }

    var reminded: RemindedEntity? {
        guard state == .active, let due = order.due else { return nil }
        let reminder = Reminder(
            id: "due", schedule: due, title: "\(order.customer) waits for order \(id)",
            body: order.street, category: OrderStore.category)
        return RemindedEntity(id: id, reminders: [reminder])
    }
}

/// A message about an order.
public struct OrderNote: Codable, Hashable, Sendable {
    /// What is said.
    public var text: String

    /// Makes one.
    public init(text: String) { self.text = text }
}
