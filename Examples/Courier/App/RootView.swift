import CourierCore
import RepriseUI
import SwiftUI

/// The list of orders, or the sign-in; taps, links and forms lead from here to an order.
struct RootView: View {
    let courier: Courier
    let client: RepriseClient
    @Environment(ClientModel.self) private var model
    @State private var deliveries: [Delivery] = []
    @State private var path: [String] = []
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
            .navigationDestination(for: String.self) { id in
                if let delivery = deliveries.first(where: { $0.id == id }) {
                    OrderView(
                        delivery: delivery, chat: chat(delivery), courier: courier, client: client)
                } else {
                    Text("Order \(id) is not here.")
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
                NavigationLink(value: delivery.id) {
                    OrderRow(delivery: delivery, chat: chat(delivery))
                }
            }
        }
    }

    /// The same for every view that asks.
    private func chat(_ delivery: Delivery) -> ChannelModel<OrderNote> {
        client.model(for: courier.chat(about: delivery.order, client))
    }

    /// A tap on a reminder, a link `courier://order/7`.
    private func followReminders() async {
        for await tap in client.reminderTaps {
            switch tap.resolution {
            case .active(let order, _), .superseded(let order): show(order.id)
            case .paused(let order): show(order.id, "\(order.title) does not ring any more.")
            case .deleted, .missing, .malformed: hint = "There is no such order."
            }
            // Until then it would come again, also after a kill.
            try? await tap.presented()
        }
    }

    /// A tap on the banner of a message.
    private func followNotices() async {
        for await tap in client.noticeTaps {
            if let channel = tap.route?.id, let order = Courier.order(ofChannel: channel) {
                show(order)
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

    private func show(_ order: String, _ hint: String = "") {
        self.hint = hint
        path = [order]
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
