//! An application whose tests mint the same IDs in each run, because the clock stands still until a test moves it.
//!
//! ```text
//! cargo test -p tested
//! ```

use std::error::Error;

use floe::{DefineError, Floe, Generator, Layout, LayoutError, MintError, UnixMillis};
use floe_ledger::Sqlite;

floe::id! {
    /// The key of an order.
    pub struct OrderId;
}

/// Takes orders. It gets its floe as an argument: the program passes one on a ledger, and a test one with a fixed clock.
struct Shop {
    orders: Generator,
}

impl Shop {
    fn open(floe: &Floe) -> Result<Self, DefineError> {
        Ok(Self { orders: floe.snowflake("orders", Layout::TWITTER)? })
    }

    fn place(&self) -> Result<OrderId, MintError> {
        Ok(self.orders.mint()?.into())
    }

    fn placed_at(&self, order: OrderId) -> Result<UnixMillis, LayoutError> {
        Ok(self.orders.inspect(order.id())?.time)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let floe = Floe::open(Sqlite::open("ids.db")?)?;
    let shop = Shop::open(&floe)?;
    let order = shop.place()?;
    println!("{order} was placed at {}", shop.placed_at(order)?);
    floe.close();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    type Tested = Result<(), Box<dyn Error>>;

    #[test]
    fn an_order_has_the_same_id_in_each_run() -> Tested {
        let (floe, _) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
        let shop = Shop::open(&floe)?;
        assert_eq!(shop.place()?.to_string(), "2124805152568274944");
        assert_eq!(shop.place()?.to_string(), "2124805152568274945");
        Ok(())
    }

    #[test]
    fn an_order_knows_its_time() -> Tested {
        let (floe, clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
        let shop = Shop::open(&floe)?;
        clock.advance(Duration::from_secs(90));
        assert_eq!(shop.placed_at(shop.place()?)?.to_string(), "2026-11-23T10:01:30.000Z");
        Ok(())
    }

    #[test]
    fn orders_stay_in_order_when_the_clock_goes_back() -> Tested {
        let (floe, clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
        let shop = Shop::open(&floe)?;
        let first = shop.place()?;
        clock.step_to("2026-11-23T09:59:00Z".parse()?);
        assert!(shop.place()? > first);
        Ok(())
    }

    #[test]
    fn a_shop_that_is_closed_takes_no_order() -> Tested {
        let (floe, _) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
        let shop = Shop::open(&floe)?;
        floe.close();
        assert!(shop.place().is_err_and(|error| !error.is_retryable()));
        Ok(())
    }
}
