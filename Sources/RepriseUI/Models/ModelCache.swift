public import Reprise

/// The models that views hold: one for each client and subject.
///
/// Weak, so its bound is what the app holds. The entries of released models go with the next
/// insertion.
@MainActor
package enum ModelCache {
    private struct Key: Hashable {
        var client: ObjectIdentifier
        var model: ObjectIdentifier
        var subject: String
    }

    private struct Held {
        weak var client: RepriseClient?
        weak var model: AnyObject?
    }

    private static var all: [Key: Held] = [:]

    /// How many entries it has.
    package static var count: Int { all.count }

    /// The model that exists already, or else a new one.
    static func model<Model: AnyObject>(
        of client: RepriseClient, subject: String = "", make: () -> Model
    ) -> Model {
        let key = Key(
            client: ObjectIdentifier(client), model: ObjectIdentifier(Model.self), subject: subject)
        // A client may have the address of one that was released.
        if let held = all[key], held.client === client, let model = held.model as? Model {
            return model
        }
        all = all.filter { $0.value.model != nil }
        let model = make()
        all[key] = Held(client: client, model: model)
        return model
    }
}

/// Models for screens: the same one for every view that asks while another still has it.
///
/// A model ends when nothing holds it any more, so hold it in a view's `let`, or in `@State`.
extension RepriseClient {
    /// The signed-in user, and the state of the journal and of the connection.
    @MainActor public var model: ClientModel {
        ModelCache.model(of: self) { ClientModel(self) }
    }

    /// The user's conversations, and the archived ones.
    ///
    /// - Parameter count: the most of each, 1 to 1,000; another count is another model.
    /// - Returns: the model that a view has already, or a new one.
    @MainActor
    public func conversationsModel(newest count: Int = 100) -> ConversationsModel {
        ModelCache.model(of: self, subject: "\(count)") { ConversationsModel(self, newest: count) }
    }

    /// The number on the icon.
    @MainActor public var badgeModel: BadgeModel {
        ModelCache.model(of: self) { BadgeModel(self) }
    }

    /// What the forms' web view is doing.
    @MainActor public var formsModel: FormsStateModel {
        ModelCache.model(of: self) { FormsStateModel(self) }
    }

    /// The newest messages of a channel and what stands around them.
    ///
    /// ```swift
    /// ChatView(chat: client.model(for: general))
    /// ```
    ///
    /// - Parameters:
    ///   - channel: a channel of this client.
    ///   - count: the most messages, 1 to 500; another count is another model.
    /// - Returns: the model that a view has already, or a new one.
    @MainActor
    public func model<Body: Codable & Sendable>(
        for channel: TypedChannel<Body>, newest count: Int = 50
    ) -> ChannelModel<Body> {
        ModelCache.model(of: self, subject: "\(count) \(channel.name)") {
            ChannelModel(channel, newest: count)
        }
    }

    /// The progress of a chain.
    ///
    /// ```swift
    /// let upload = client.model(for: try await client.chains.start(upload, input: photo))
    /// ```
    ///
    /// - Parameter chain: its id. The model goes on if an ended chain is retried.
    /// - Returns: the model that a view has already, or a new one.
    @MainActor
    public func model(for chain: ChainID) -> ChainModel {
        ModelCache.model(of: self, subject: chain.text) { ChainModel(chain, of: self) }
    }
}
