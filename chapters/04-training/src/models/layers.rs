//! What a model is made of, as dfdx wants to know it.

use dfdx::dtypes::Dtype;
use num_traits::Float;
use rand_distr::uniform::SampleUniform;

/// A type of numbers that layers can begin with at random.
pub trait Number: Dtype + Float + SampleUniform {}

impl<E: Dtype + Float + SampleUniform> Number for E {}

/// Tells dfdx of which layers a model is made, by its fields and in the order in which they are visited, as in
/// `made_of!(Rnn: input, recurrent, dense)`. A field that is a tensor says how it begins, as in `weight = he()`.
#[macro_export]
macro_rules! made_of {
    (@visit $layer:ident) => {
        Self::module(stringify!($layer), |s| &s.$layer, |s| &mut s.$layer)
    };
    (@visit $tensor:ident $start:expr) => {
        Self::tensor(stringify!($tensor), |s| &s.$tensor, |s| &mut s.$tensor, $start)
    };
    ($model:ident $(<$(const $n:ident),+>)?: $($field:ident $(= $start:expr)?),+) => {
        const _: () = {
            use ::dfdx::{
                dtypes::Dtype,
                nn::tensor_collection::{ModuleVisitor, TensorCollection},
                tensor_ops::Device,
            };

            impl<$($(const $n: usize,)+)? E: $crate::layers::Number, D: Device<E>>
                TensorCollection<E, D> for $model<$($($n,)+)? E, D>
            {
                type To<E2: Dtype, D2: Device<E2>> = $model<$($($n,)+)? E2, D2>;

                fn iter_tensors<V: ModuleVisitor<Self, E, D>>(
                    visitor: &mut V,
                ) -> ::std::result::Result<Option<Self::To<V::E2, V::D2>>, V::Err> {
                    visitor.visit_fields(
                        ($($crate::made_of!(@visit $field $($start)?),)+),
                        |($($field,)+)| $model { $($field,)+ },
                    )
                }
            }
        };
    };
}
