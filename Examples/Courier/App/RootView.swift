import CourierCore
import RepriseUI
import SwiftUI

/// Where the app leads to.
enum Place: Codable, Hashable {
    /// An order, by its number.
    case order(String)
    /// A conversation about none, by its channel.
    case talk(String)
}

/// The lists of orders and of conversations, or the sign-in; taps, links and forms lead from here.
struct RootView: View {
    let courier: Courier
    let client: RepriseClient
    @Environment(ClientModel.self) private var model
    @State private var deliveries: [Delivery] = []
    @State private var path: [Place] = []
    @State private var hint = ""

    var body: some View {
        NavigationStack(path: $path) {
            List {
                if let problem = model.problem { Text(problem.message).foregroundStyle(.red) }
                if !hint.isEmpty { Text(hint) }
                if model.user == nil {
                    SignInSection(courier: courier)
                } else {
                    orders
                    TalksSection(inbox: client.conversationsModel())
                    DaySection(courier: courier, client: client)
                }
                Section("Inspect") {
                    NavigationLink {
                        ChainsView(client)
                    } label: {
                        Text("Work")
                    }
                    NavigationLink {
                        DebugView(client)
                    } label: {
                        Text("Debug")
                    }
                }
            }
            .navigationTitle(model.isConnected ? "Courier" : "Courier, offline")
            .navigationDestination(for: Place.self) { place in
                switch place {
                case .order(let id): order(id)
                case .talk(let id):
                    TalkView(
                        title: title(of: id), chat: client.model(for: courier.chat(in: id, client)))
                }
            }
        }
        .task { for await now in courier.orders.lists { deliveries = now } }
        .task { await followReminders() }
        .task { await followNotices() }
        .task { await followForms() }
    }

    private var orders: some View {
        Section("Orders, \(client.badgeModel.count) unread") {
            ForEach(deliveries) { delivery in
                NavigationLink(value: Place.order(delivery.id)) {
                    OrderRow(delivery: delivery, chat: chat(delivery))
                }
            }
        }
    }

    @ViewBuilder private func order(_ id: String) -> some View {
        if let delivery = deliveries.first(where: { $0.id == id }) {
            OrderView(delivery: delivery, chat: chat(delivery), courier: courier, client: client)
        } else {
            Text("Order \(id) is not here.")
        }
    }

    private func title(of talk: String) -> String {
        client.conversationsModel().conversations.first { $0.id == talk }?.displayName ?? talk
    }

    /// The same for every view that asks.
    private func chat(_ delivery: Delivery) -> ChannelModel<OrderNote> {
        client.model(for: courier.chat(about: delivery.order, client))
    }

    /// A tap on a reminder, a link `courier://order/7`.
    private func followReminders() async {
        for await tap in client.reminderTaps {
            switch tap.resolution {
            case .active(let order, _), .superseded(let order): show(.order(order.id))
            case .paused(let order):
                show(.order(order.id), "\(order.title) does not ring any more.")
            case .deleted, .missing, .malformed: hint = "There is no such order."
            }
            // Until then it would come again, also after a kill.
            try? await tap.presented()
        }
    }

    /// A tap on the banner of a message.
    private func followNotices() async {
        for await tap in client.noticeTaps {
            if let channel = tap.route?.id {
                if let order = Courier.order(ofChannel: channel) { show(.order(order)) }
                if Courier.isTalk(channel) { show(.talk(channel)) }
            }
            try? await tap.presented()
        }
    }

    /// A button of a form that leads somewhere.
    private func followForms() async {
        for await link in client.deepLinks {
            if let url = URL(string: link.url) { _ = try? client.open(url) }
        }
    }

    private func show(_ place: Place, _ hint: String = "") {
        self.hint = hint
        path = [place]
    }
}

private struct OrderRow: View {
    let delivery: Delivery
    let chat: ChannelModel<OrderNote>

    var body: some View {
        VStack(alignment: .leading) {
            Text("\(delivery.id) · \(delivery.order.customer)").font(.headline)
            Text(
                chat.unread == 0
                    ? "\(delivery.order.street), \(delivery.state.rawValue)"
                    : "\(delivery.order.street), \(delivery.state.rawValue), \(chat.unread) unread"
            )
            .foregroundStyle(.secondary)
        }
    }
}
