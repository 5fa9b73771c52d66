public import Foundation
public import Reprise

/// A courier's app without its screens: orders, a chat about each, reminders, forms, and the proof
/// of a delivery.
///
/// ```swift
/// let courier = Courier(
///     in: folder, office: "http://127.0.0.1:8081", transport: transport,
///     notifications: notifications)
/// configuration.tokens = courier.tokens
/// configuration.reminders = courier.reminders
/// configuration.chains = courier.chains
/// let client = RepriseClient(configuration)
/// Task { try await courier.run(beside: client) }
/// try await client.run()
/// ```
public final class Courier: Sendable {
    /// The courier's orders.
    public let orders: OrderStore

    private let office: String
    private let photos: URL
    private let transport: any HTTPTransport
    private let notifications: any UserNotifications
    private let transfers: (any TransferService)?
    private let client = ClientReference()

    /// Touches nothing yet.
    ///
    /// - Parameters:
    ///   - folder: the folder of orders and photos.
    ///   - office: the address of the courier's office, which has photos and gives tokens.
    ///   - transport: speaks to it.
    ///   - notifications: the system's.
    ///   - transfers: fetches photos while the app does not run; nil: only while it runs.
    public init(
        in folder: URL, office: String, transport: any HTTPTransport,
        notifications: any UserNotifications, transfers: (any TransferService)? = nil
    ) {
        orders = OrderStore(at: folder.appending(path: "orders.json"))
        photos = folder.appending(path: "photos", directoryHint: .isDirectory)
        self.office = office
        self.transport = transport
        self.notifications = notifications
        self.transfers = transfers
    }

    // MARK: What the client is configured with

    /// The office gives a token for a user.
    public var tokens: TokenProvider {
        { [office, transport] request in
            let user = request.user.text
                .addingPercentEncoding(withAllowedCharacters: .alphanumerics)
            let call = HTTPCall(url: "\(office)/token?user=\(user ?? "")")
            let answer = try await transport.fetch(call, limit: 16_384)
            guard answer.status == 200 else {
                throw RepriseError(.unavailable, "The office answers with \(answer.status).")
            }
            return try AccessToken(String(decoding: answer.body, as: UTF8.self))
        }
    }

    /// Reminders of orders that are due, with three buttons.
    public var reminders: Reminders.Configuration {
        var reminders = Reminders.Configuration(store: orders)
        reminders.sort = "order"
        reminders.refreshTask = "org.example.courier.refresh"
        reminders.actions = [
            ReminderActionRule(
                "later", category: OrderStore.category, title: "In 10 minutes",
                does: .snooze(.seconds(600))),
            ReminderActionRule(
                "answer", category: OrderStore.category, title: "Answer…", does: .log,
                asksForText: true),
            ReminderActionRule(
                "pause", category: OrderStore.category, title: "Pause", does: .pause),
        ]
        return reminders
    }

    /// The proof of a delivery, and its workers.
    public var chains: Chains.Configuration {
        let authority = office.split(separator: "/").last.map(String.init) ?? office
        let standard = StandardWorkers(
            sandbox: Sandbox(["photos": photos]), transport: transport,
            guard: AddressGuard(allowed: [authority]), transfers: transfers)
        return Chains.Configuration(
            workers: standard.all + [FramePhoto(photos: photos), Tell(client: client)],
            chains: [Proof.chain])
    }

    // MARK: At each launch

    /// Saves the orders that come, sets the buttons of reminders, and follows the chat about each
    /// order, until its task is cancelled.
    ///
    /// - Throws: what the system says of the buttons, and the journal's errors.
    public func run(beside client: RepriseClient) async throws {
        self.client.set(client)
        // At least once: an order that comes again is saved again.
        try await client.channel("orders", of: Order.self).consume(as: "orders") { [orders] in
            if case .body(let order) = $0.content { try orders.save(order) }
        }
        try await notifications.setCategories(reminders.categories)
        try await followChats(client)
    }

    private func followChats(_ client: RepriseClient) async throws {
        var followed: [String: Order] = [:]
        for await deliveries in orders.lists {
            let orders = Dictionary(uniqueKeysWithValues: deliveries.map { ($0.id, $0.order) })
            for (id, order) in orders where followed[id] == nil {
                try await chat(about: order, client).subscribe()
            }
            for (id, order) in followed where orders[id] == nil {
                try await chat(about: order, client).unsubscribe()
            }
            followed = orders
        }
    }

    // MARK: What the courier does

    /// Continues as a courier, also at later launches.
    ///
    /// Another one's orders are removed before.
    ///
    /// - Throws: the errors of file system and journal.
    public func signIn(_ name: String) async throws {
        try orders.setOwner(name)
        try await client.get().signIn(name, tokens: nil)
    }

    /// Ends the account, and removes its orders.
    ///
    /// - Throws: the errors of file system and journal.
    public func signOut() async throws {
        try await client.get().signOut()
        try orders.setOwner(nil)
    }

    /// The chat about an order.
    public func chat(about order: Order, _ client: RepriseClient) -> TypedChannel<OrderNote> {
        client.channel(order.chat, of: OrderNote.self)
    }

    /// What is said in a conversation.
    public func chat(in conversation: String, _ client: RepriseClient) -> TypedChannel<OrderNote> {
        client.channel(conversation, of: OrderNote.self)
    }

    /// Whether a channel is a conversation about no order; `client.conversations` has all.
    public static func isTalk(_ channel: String) -> Bool {
        channel != "orders" && order(ofChannel: channel) == nil
    }

    /// The order that a notification of a chat is about.
    public static func order(ofChannel channel: String) -> String? {
        channel.hasPrefix("order-") ? String(channel.dropFirst("order-".count)) : nil
    }

    /// Asks for the permission to show notifications, and plans reminders.
    ///
    /// - Returns: whether the person allows it.
    /// - Throws: what the system says.
    @discardableResult
    public func askPermission() async throws -> Bool {
        let isAllowed = try await notifications.requestAuthorization(provisional: false)
        try await client.get().reminders.reconciliation()
        return isAllowed
    }

    /// Notes that the parcel is there: its reminder ends, and a review is asked for.
    ///
    /// - Throws: the file system's errors, and the journal's.
    public func delivered(_ order: Order) async throws {
        try orders.set(.archived, order.id)
        try await client.get().recordEvent("delivered", properties: ["order": order.id])
    }

    /// Begins the proof of a delivery; one that runs already goes on.
    ///
    /// - Returns: its chain.
    /// - Throws: the file system's errors, and the journal's.
    @discardableResult
    public func prove(_ order: Order) async throws -> ChainID {
        try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: true)
        return try await client.get().chains.start(
            Proof.chain,
            input: .init(order: order, office: office, isTransferred: transfers != nil),
            name: order.chat)
    }
}
