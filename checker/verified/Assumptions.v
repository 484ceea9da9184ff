(* What each theorem rests on: "Closed under the global context" means nothing but Coq's logic. *)
From Byheart Require Import Sound Counting Gadgets.
Print Assumptions judge_sound.
Print Assumptions check_sound.
Print Assumptions answers_unique.
Print Assumptions counting.
Print Assumptions fold_block_ok.
Print Assumptions fold_stores.
Print Assumptions fold_is_g.
Print Assumptions strip_bits.
Print Assumptions table.
